// SPDX-License-Identifier: BSD-3-Clause
// Global keyboard shortcuts. Lists mark the items for the arrow keys with `data-item`.
import { useEffect, useRef } from "preact/hooks";
import { useViews, useSource } from "./offered";
import { hrefOfView, parseRoute } from "./route";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

function moveFocus(by: number) {
  const items = [...document.querySelectorAll<HTMLElement>("main [data-item]")];
  const active = document.activeElement;
  const at = items.findIndex((item) => item === active || item.contains(active));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

interface Actions {
  search(): void;
  showHelp(): void;
  escape(): void;
  step(minutes: bigint): void; // to another past minute
  showPresent(): void;
}

export function useKeys(latest: Actions) {
  const actions = useRef(latest);
  actions.current = latest;
  const views = useRef(useViews());
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Escape") return actions.current.escape();
      // Brackets need AltGr (on Windows Ctrl and Alt) or Option on many keyboards.
      const isBracket = event.altKey && (event.key === "[" || event.key === "]");
      if (event.metaKey || ((event.ctrlKey || event.altKey) && !isBracket) || isTyping(event.target)) return;
      const view = views.current[Number(event.key) - 1];
      if (view) location.hash = hrefOfView(view.name, parseRoute(location.hash).query);
      else if (event.key === "/") actions.current.search();
      else if (event.key === "?") actions.current.showHelp();
      else if (event.key === "[") actions.current.step(-1n);
      else if (event.key === "]") actions.current.step(1n);
      else if (event.key === "l") actions.current.showPresent();
      else if (event.key === "ArrowDown" || event.key === "j") moveFocus(1);
      else if (event.key === "ArrowUp" || event.key === "k") moveFocus(-1);
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

const kPastKeys: [string, string][] = [
  ["[ ]", "one minute back or forward"],
  ["l", "live: back to the present"],
];

const kKeys: [string, string][] = [
  ["/", "search all names"],
  ["↑ ↓", "move through a list"],
  ["Enter", "open the focused item"],
  ["Esc", "close, or clear the selection"],
  ["← → ↑ ↓", "on the map: move between nodes"],
  ["+ − 0", "on the map: zoom, show all"],
  ["?", "show this help"],
];

export function KeyHelp({ open, onClose }: { open: boolean; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const views = useViews();
  const isLive = useSource()?.live ?? true;
  const keys: [string, string][] = [[`1 – ${views.length}`, views.map((view) => view.title).join(", ")], ...kKeys, ...(isLive ? kPastKeys : [])];
  useEffect(() => {
    const element = dialog.current;
    if (open && !element?.open) element?.showModal();
    if (!open) element?.close();
  }, [open]);
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt><kbd>{key}</kbd></dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>Close</button>
    </dialog>
  );
}

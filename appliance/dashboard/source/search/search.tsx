// SPDX-License-Identifier: BSD-3-Clause
// The search over all names: a combobox in a dialog, as the ARIA authoring practices describe it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type {
  FindPathsResponse, GetJobResponse, ListFindingsResponse, ListJobsResponse, Topology,
} from "../api/messages";
import { count } from "../format/quantities";
import { Tag } from "../parts/names";
import { useViews } from "../parts/offered";
import { useResource, useShared } from "../store/use_store";
import { collectItems } from "./collect";
import { SearchIndex, type Item } from "./search_index";

const kShown = 12;

function useIndex(): SearchIndex {
  const { store } = useShared();
  const views = useViews();
  const topology = useResource<Topology>("/api/v1/topology").value;
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs").value;
  const findings = useResource<ListFindingsResponse>("/api/v1/findings").value;
  // Data that other views have loaded; it does not change while the dialog is open.
  const [jobDetails] = useState(() => store.loaded<GetJobResponse>("/api/v1/jobs/"));
  const [paths] = useState(() => store.loaded<FindPathsResponse>("/api/v1/paths"));
  return useMemo(
    () => new SearchIndex(collectItems({ views, topology, jobs, findings, jobDetails, paths })),
    // New responses arrive every second; a new index is needed only if names may have changed.
    [topology, jobs?.jobs.length, findings?.findings.length, jobDetails, paths],
  );
}

function Result({ item, id, isActive, onHover, onOpen }: { item: Item; id: string; isActive: boolean; onHover(): void; onOpen(): void }) {
  return (
    <li id={id} role="option" aria-selected={isActive} onMouseMove={onHover} onClick={onOpen}>
      <Tag kind="kind" text={item.kind} /> <span class="name">{item.name}</span> <span class="muted name">{item.detail}</span>
    </li>
  );
}

function SearchBox({ onClose }: { onClose(): void }) {
  const index = useIndex();
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const { items, total } = useMemo(() => index.find(query, kShown), [index, query]);
  const at = Math.min(active, Math.max(0, items.length - 1));
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  const open = (item: Item | undefined) => {
    if (!item) return;
    location.hash = item.href;
    onClose();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setActive((at + step + items.length) % Math.max(1, items.length));
    else if (event.key === "Enter") open(items[at]);
    else return;
    event.preventDefault();
  };
  const note = query.trim() === ""
    ? `${count(index.size)} names. QPs and ranks are those of the jobs and paths that were opened.`
    : items.length === 0 ? `No name contains "${query.trim()}".` : `${count(items.length)} of ${count(total)} results`;
  return (
    <>
      <input
        type="text" role="combobox" aria-label="Search all names" aria-expanded={items.length > 0} aria-controls="search-results"
        aria-autocomplete="list" list={undefined} aria-activedescendant={items.length > 0 ? `search-result-${at}` : undefined}
        placeholder="Job, host, GPU, NIC, address, QP, switch, port, finding, view" autocomplete="off" autofocus
        value={query} onKeyDown={pressed}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setActive(0);
        }}
      />
      <ul id="search-results" role="listbox" aria-label="Results" ref={list}>
        {items.map((item, i) => (
          <Result key={`${item.kind} ${item.name} ${item.href}`} item={item} id={`search-result-${i}`} isActive={i === at}
            onHover={() => setActive(i)} onOpen={() => open(item)} />
        ))}
      </ul>
      <p class="muted" role="status">{note}</p>
    </>
  );
}

export function Search({ open, onClose }: { open: boolean; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key event, so that letters typed quickly after "/" reach the input.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (open && !element?.open) {
      element?.showModal();
      element?.querySelector("input")?.focus();
    }
    if (!open) element?.close();
  }, [open]);
  return (
    // Browsers send the close event later, when the dialog may be open again.
    <dialog ref={dialog} class="search" aria-label="Search" onClose={() => !dialog.current?.open && onClose()}
      onClick={(event) => event.target === dialog.current && onClose()}>
      {open && <SearchBox onClose={onClose} />}
    </dialog>
  );
}

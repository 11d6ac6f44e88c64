// SPDX-License-Identifier: BSD-3-Clause
// A button at a position of a time axis that shows the minute at this position.
import { useEffect, useRef } from "preact/hooks";
import { clockText, minuteText } from "./minute";

export interface Picked {
  minute: bigint;
  share: number; // position on the axis, from 0 to 1
}

interface Props {
  picked: Picked;
  onShow(): void;
  onClose(): void;
}

export function MinutePick({ picked: { minute, share }, onShow, onClose }: Props) {
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const pressed = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    const escaped = (event: KeyboardEvent) => event.key === "Escape" && onClose();
    window.addEventListener("pointerdown", pressed);
    window.addEventListener("keydown", escaped);
    return () => {
      window.removeEventListener("pointerdown", pressed);
      window.removeEventListener("keydown", escaped);
    };
  }, [onClose]);
  const side = share < 0.2 ? "pick-first" : share > 0.8 ? "pick-last" : "";
  return (
    <span class={`pick ${side}`} style={{ left: `${share * 100}%` }} ref={box}>
      <button type="button" title={minuteText(minute)} onClick={onShow}>Show {clockText(minute)}</button>
    </span>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// Names as links to the view that shows them, and other small shared components.
import { percent } from "../format/quantities";
import { relative, utcFull, type Reference } from "../format/moments";
import type { Timestamp } from "../api/messages";
import { useJobNames } from "../jobs/job_names";
import { offersView, useSource } from "./offered";
import { href, hrefOfJob, hrefOfPlace } from "./route";

// Only the name if the map does not contain it.
export function Place({ name }: { name: string }) {
  const source = useSource();
  if (source?.offersPlace?.(name) === false) return <span class="name">{name}</span>;
  return <a class="name" href={hrefOfPlace(name)}>{name}</a>;
}

// A link to the map between two ends. Nothing if the page has no map.
export function MapLink({ from, to, text, label }: { from: string; to: string; text: string; label?: string }) {
  const source = useSource();
  const isShown = [from, to].every((end) => source?.offersPlace?.(end) ?? true);
  return isShown && offersView(source, "fabric") ? <a href={href("fabric", { from, to })} aria-label={label}>{text}</a> : null;
}

export function JobLink({ id, label }: { id: string; label?: string }) {
  const nameOf = useJobNames();
  const source = useSource();
  if (source?.offers?.(`/api/v1/jobs/${encodeURIComponent(id)}`) === false) return <span class="name" title={id}>{label ?? nameOf(id)}</span>;
  return <a class="name" href={hrefOfJob(id)} title={id}>{label ?? nameOf(id)}</a>;
}

// A percentage with a bar.
export function Share({ value, label }: { value: number; label?: string }) {
  return (
    <span class="share">
      <span class="share-bar" aria-hidden="true">
        <span style={{ width: `${Math.min(100, Math.max(0, value * 100))}%` }} />
      </span>
      {percent(value)}
      {label && ` ${label}`}
    </span>
  );
}

export function Moment({ time, reference }: { time?: Timestamp; reference: Reference }) {
  if (time === undefined) return <span class="muted">unknown</span>;
  return <time title={utcFull(time)}>{relative(time, reference)}</time>;
}

// A state as text in a coloured frame: colour alone is not accessible to everybody.
export function Tag({ kind, text, hint }: { kind: string; text: string; hint?: string }) {
  return <span class={`tag tag-${kind}`} title={hint}>{text}</span>;
}

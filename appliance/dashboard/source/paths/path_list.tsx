// SPDX-License-Identifier: BSD-3-Clause
// The paths of flows over time: the sending ports in each period, with the confidence.
import type { FlowPath, PathInterval } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { bytes, count, duration, percent } from "../format/quantities";
import { kStretchStates, words } from "../format/words";
import { Moment, Place, Share, Tag } from "../parts/names";

function Shares({ stretch }: { stretch: PathInterval }) {
  if (stretch.shares.length === 0) return null;
  const shares = [...stretch.shares].sort((a, b) => b.share - a.share);
  return (
    <ul class="shares" aria-label="Ports that observed its packets">
      {shares.slice(0, 12).map(({ port, share }) => (
        <li key={port}><Place name={port} /> <Share value={share} /></li>
      ))}
      {shares.length > 12 && <li class="muted">and {shares.length - 12} more</li>}
    </ul>
  );
}

function Stretch({ stretch, reference }: { stretch: PathInterval; reference: Reference }) {
  const [state, meaning] = kStretchStates[stretch.state] ?? [stretch.state, ""];
  const certain = new Set(stretch.certain_ports);
  return (
    <li class="stretch">
      <div class="card-line">
        <Tag kind={`path-${state}`} text={state} hint={meaning} />
        {stretch.probability > 0 && <Share value={stretch.probability} label="confidence" />}
        {Number(stretch.candidates) > 1 && <span>{count(stretch.candidates)} paths fit</span>}
        <span class="muted">
          {words(stretch.began)} <Moment ns={stretch.from_ns} reference={reference} />, for{" "}
          {duration(nsBetween(stretch.from_ns, stretch.until_ns))} · {bytes(stretch.bytes)},{" "}
          {count(stretch.packets)} packets · {stretch.sources.join(", ") || "no evidence"}
        </span>
      </div>
      {stretch.reason && (
        <p>Reason: {words(stretch.reason)} {stretch.reason_place && <Place name={stretch.reason_place} />}</p>
      )}
      {stretch.ports.length > 0 && (
        <ol class="ports" aria-label="Sending ports">
          {stretch.ports.map((port) => (
            <li key={port} class={stretch.candidates !== "1" && !certain.has(port) ? "port-guess" : ""}>
              <Place name={port} />
            </li>
          ))}
        </ol>
      )}
      <Shares stretch={stretch} />
    </li>
  );
}

export function PathList({ paths, reference }: { paths: FlowPath[]; reference: Reference }) {
  return (
    <div class="cards">
      {paths.map((path) => {
        const last = path.intervals.at(-1);
        const state = kStretchStates[last?.state ?? ""]?.[0] ?? "unknown";
        return (
          <details class="card" key={`${path.segment} ${path.source} ${path.destination} ${path.destination_qpn}`} open={paths.length <= 4}>
            <summary data-item="">
              <span class="card-line">
                <Tag kind={`path-${state}`} text={state} />
                <strong class="name">
                  {path.source_nic || path.source} → {path.destination_nic || path.destination}
                </strong>
                <span>QP {path.destination_qpn}</span>
                <span class="muted">
                  {path.intervals.length} {path.intervals.length === 1 ? "path period" : "path periods"}
                  {last && last.probability > 0 && `, confidence ${percent(last.probability)}`}
                </span>
              </span>
            </summary>
            <p class="muted">
              {path.source} → {path.destination}
              {path.segment > 0 && `, VNI ${path.segment - 1}`}
            </p>
            <ol class="stretches">
              {path.intervals.map((stretch) => (
                <Stretch key={stretch.from_ns} stretch={stretch} reference={reference} />
              ))}
            </ol>
          </details>
        );
      })}
    </div>
  );
}

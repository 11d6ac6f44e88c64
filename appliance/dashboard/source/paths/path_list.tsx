// SPDX-License-Identifier: BSD-3-Clause
// The paths of flows over time: the sending ports in each path interval, with the confidence.
import type { FlowPath, PathInterval } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { bytes, count, duration, percent } from "../format/quantities";
import { enumWords, pathState } from "../format/words";
import { Moment, Place, Share, Tag } from "../parts/names";

function Shares({ interval }: { interval: PathInterval }) {
  if (interval.shares.length === 0) return null;
  const shares = [...interval.shares].sort((a, b) => b.share - a.share);
  return (
    <ul class="shares" aria-label="Ports that observed its packets">
      {shares.slice(0, 12).map(({ port, share }) => (
        <li key={port}><Place name={port} /> <Share value={share} /></li>
      ))}
      {shares.length > 12 && <li class="muted">and {shares.length - 12} more</li>}
    </ul>
  );
}

function Interval({ interval, reference }: { interval: PathInterval; reference: Reference }) {
  const [state, meaning] = pathState(interval.state);
  const cause = enumWords(interval.change_cause);
  const certain = new Set(interval.certain_ports);
  return (
    <li class="path-interval">
      <div class="card-line">
        <Tag kind={`path-${state}`} text={state} hint={meaning} />
        {interval.probability > 0 && <Share value={interval.probability} label="confidence" />}
        {Number(interval.candidate_path_count) > 1 && <span>{count(interval.candidate_path_count)} paths fit</span>}
        <span class="muted">
          {enumWords(interval.start_reason) || "started"} <Moment time={interval.start_time} reference={reference} />, for{" "}
          {duration(nsBetween(interval.start_time, interval.end_time))} · {bytes(interval.bytes)},{" "}
          {count(interval.packets)} packets · {interval.sources.map(enumWords).join(", ") || "no evidence"}
        </span>
      </div>
      {cause && (
        <p>Cause of the change: {cause} {interval.change_place && <Place name={interval.change_place} />}</p>
      )}
      {interval.ports.length > 0 && (
        <ol class="ports" aria-label="Sending ports">
          {interval.ports.map((port) => (
            <li key={port} class={interval.candidate_path_count !== "1" && !certain.has(port) ? "port-guess" : ""}>
              <Place name={port} />
            </li>
          ))}
        </ol>
      )}
      <Shares interval={interval} />
    </li>
  );
}

export function PathList({ paths, reference }: { paths: FlowPath[]; reference: Reference }) {
  return (
    <div class="cards">
      {paths.map((path) => {
        const last = path.intervals.at(-1);
        const [state] = pathState(last?.state);
        return (
          <details class="card" key={`${path.vni} ${path.source} ${path.destination} ${path.destination_qpn}`} open={paths.length <= 4}>
            <summary data-item="">
              <span class="card-line">
                <Tag kind={`path-${state}`} text={state} />
                <strong class="name">
                  {path.source_nic || path.source} → {path.destination_nic || path.destination}
                </strong>
                <span>QP {path.destination_qpn}</span>
                <span class="muted">
                  {path.intervals.length} {path.intervals.length === 1 ? "path interval" : "path intervals"}
                  {last && last.probability > 0 && `, confidence ${percent(last.probability)}`}
                </span>
              </span>
            </summary>
            <p class="muted">
              {path.source} → {path.destination}
              {path.vni !== undefined && `, VNI ${path.vni}`}
            </p>
            <ol class="path-intervals">
              {path.intervals.map((interval) => (
                <Interval key={interval.start_time} interval={interval} reference={reference} />
              ))}
            </ol>
          </details>
        );
      })}
    </div>
  );
}

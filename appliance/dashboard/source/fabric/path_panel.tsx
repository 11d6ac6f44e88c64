// SPDX-License-Identifier: BSD-3-Clause
// The two ends that are selected on the map, and a summary of the paths between them.
import type { FindPathsResponse } from "../api/messages";
import { plural } from "../format/quantities";
import { pathState } from "../format/words";
import { Absence } from "../parts/await";
import { useSource } from "../parts/offered";
import { href } from "../parts/route";
import { noFlowText } from "../paths/no_flow";
import { PresentNote } from "../past/past_view";
import type { Resource } from "../store/use_store";
import { endsOfHost } from "./path_links";
import { nodeOfPort, type Fabric } from "./model";

interface Props {
  fabric: Fabric;
  from: string;
  to: string;
  paths: Resource<FindPathsResponse>;
  onChoose(changes: { from?: string; to?: string }): void;
}

function EndSelect({ label, fabric, value, onChange }: {
  label: string; fabric: Fabric; value: string; onChange(value: string): void;
}) {
  const ends = endsOfHost(fabric, fabric.nodeByName.get(nodeOfPort(value)) ?? -1);
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {(ends.includes(value) ? ends : [value, ...ends]).map((end) => <option key={end}>{end}</option>)}
      </select>
    </label>
  );
}

function summary(answer: FindPathsResponse, isLive: boolean): string {
  if (answer.paths.length === 0) return noFlowText(isLive);
  const states = new Map<string, number>();
  for (const path of answer.paths) {
    const [state] = pathState(path.intervals.at(-1)?.state);
    states.set(state, (states.get(state) ?? 0) + 1);
  }
  const parts = [...states].map(([state, flows]) => `${flows} ${state}`);
  return `${plural(answer.total_size, "flow")}: ${parts.join(", ")}.`;
}

export function PathPanel({ fabric, from, to, paths, onChoose }: Props) {
  const isLive = useSource()?.live ?? true;
  if (!from) return null;
  return (
    <div class="ends">
      <EndSelect label="From" fabric={fabric} value={from} onChange={(value) => onChoose({ from: value })} />
      {to ? (
        <>
          <EndSelect label="to" fabric={fabric} value={to} onChange={(value) => onChoose({ to: value })} />
          <button type="button" onClick={() => onChoose({ from: to, to: from })}>Swap</button>
        </>
      ) : (
        <span class="muted">Select the other end on the map</span>
      )}
      <button type="button" onClick={() => onChoose({ from: "", to: "" })}>Clear</button>
      {to && (
        <span role="status">
          {paths.value ? summary(paths.value, isLive) : <Absence resource={paths} what="paths" />}{" "}
          <a href={href("paths", { source: from, destination: to })}>All path intervals</a>
        </span>
      )}
      {to && <PresentNote what="paths" />}
    </div>
  );
}

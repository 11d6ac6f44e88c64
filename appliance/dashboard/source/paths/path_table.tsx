// SPDX-License-Identifier: BSD-3-Clause
// The paths of flows over time: the sending ports in each path interval, with the confidence.
import type { FlowPath, PathInterval } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { bytes, count, duration, percent } from "../format/quantities";
import { enumWords, pathState } from "../format/words";
import { MapLink, Moment, Place, Share, Tag } from "../parts/names";
import { href } from "../parts/route";
import { Table, type Column, type TableState } from "../parts/table";

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

export interface PathEnds {
  rankOf?: (address: string) => number | undefined;
}

const dataOf = (path: FlowPath) => path.intervals.reduce((sum, interval) => sum + Number(interval.bytes), 0);
const lastOf = (path: FlowPath) => path.intervals.at(-1);
const changesOf = (path: FlowPath) => Math.max(0, path.intervals.length - 1);

function End({ nic, address, rank, job }: { nic: string; address: string; rank?: number; job: string }) {
  return (
    <>
      {nic ? <Place name={nic} /> : <span class="name">{address}</span>}
      {rank !== undefined && job && <> <a href={href("jobs", { tab: "paths", rank: String(rank) }, job)}>rank {rank}</a></>}
    </>
  );
}

function columnsOf(job: string, { rankOf }: PathEnds): Column<FlowPath>[] {
  const rank = (address: string) => rankOf?.(address);
  return [
    {
      title: "from", cell: (path) => <End nic={path.source_nic} address={path.source} rank={rank(path.source)} job={job} />,
      sort: (path) => path.source_nic || path.source,
    },
    {
      title: "to", cell: (path) => <End nic={path.destination_nic} address={path.destination} rank={rank(path.destination)} job={job} />,
      sort: (path) => path.destination_nic || path.destination,
    },
    { title: "QP", numeric: true, cell: (path) => path.destination_qpn, sort: (path) => path.destination_qpn },
    {
      title: "path",
      cell: (path) => {
        const [state, meaning] = pathState(lastOf(path)?.state);
        return <Tag kind={`path-${state}`} text={state} hint={meaning} />;
      },
      sort: (path) => pathState(lastOf(path)?.state)[0],
    },
    {
      title: "via", hint: "sending ports of the current path, without the NIC",
      cell: (path) => {
        const ports = lastOf(path)?.ports.slice(1) ?? [];
        return ports.length === 0 ? "–" : ports.map((port, i) => <span key={port}>{i > 0 && " → "}<Place name={port} /></span>);
      },
      value: (path) => lastOf(path)?.ports.join(" ") ?? "",
    },
    { title: "confidence", numeric: true, unit: "0 to 1", cell: (path) => { const { probability = 0 } = lastOf(path) ?? {}; return probability > 0 ? percent(probability) : "–"; }, sort: (path) => lastOf(path)?.probability ?? 0 },
    { title: "changes", numeric: true, hint: "how often the flow changed its path", cell: (path) => count(changesOf(path)), sort: changesOf },
    { title: "data", numeric: true, unit: "B", cell: (path) => bytes(dataOf(path)), sort: dataOf },
  ];
}

function Detail({ path, reference }: { path: FlowPath; reference: Reference }) {
  return (
    <>
      <p class="muted">
        {path.source} → {path.destination}, QP {path.destination_qpn}
        {path.vni !== undefined && `, VNI ${path.vni}`}{" "}
        {path.source_nic && path.destination_nic && <MapLink from={path.source_nic} to={path.destination_nic} text="Map of the two NICs" />}
      </p>
      <ol class="path-intervals">
        {path.intervals.map((interval) => (
          <Interval key={interval.start_time} interval={interval} reference={reference} />
        ))}
      </ol>
    </>
  );
}

interface Props extends PathEnds {
  paths: FlowPath[];
  reference: Reference;
  job?: string; // the flows' job, if they belong to one
  file: string;
  most?: number;
  state?: TableState;
}

export function PathTable({ paths, reference, job = "", file, most = 50, rankOf, state }: Props) {
  if (paths.length === 0) return null;
  return (
    <Table caption="Paths of flows" columns={columnsOf(job, { rankOf })} rows={paths} most={most} file={file} {...state}
      keyOf={(path) => `${path.vni ?? ""} ${path.source} → ${path.destination} QP ${path.destination_qpn}`.trim()}
      detail={(path) => <Detail path={path} reference={reference} />} />
  );
}

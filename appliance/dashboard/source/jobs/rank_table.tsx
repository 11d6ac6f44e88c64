// SPDX-License-Identifier: BSD-3-Clause
// The job's processes, those with problems first, with the bytes that each sent and received.
import { useMemo } from "preact/hooks";
import type { Job } from "../api/messages";
import { bytes, count } from "../format/quantities";
import { Place, Tag } from "../parts/names";
import { offersView, useSource } from "../parts/offered";
import { href } from "../parts/route";
import { Table, type Column, type TableState } from "../parts/table";
import { rankStates, type RankState } from "./trouble";

const orDash = (text: string) => text || "–";

function PathsLink({ job, rank }: { job: string; rank: number }) {
  if (!offersView(useSource(), "paths")) return null;
  return <a href={href("jobs", { tab: "paths", rank: String(rank) }, job)} aria-label={`Paths of rank ${rank}`}>paths</a>;
}

function columnsOf(job: Job): Column<RankState>[] {
  return [
    { title: "rank", numeric: true, cell: ({ rank }) => rank.rank ?? "–", sort: ({ rank }) => rank.rank ?? -1 },
    {
      title: "trouble",
      cell: ({ troubles }) => troubles.length === 0 ? <span class="muted">none known</span> : (
        <span class="tags">{troubles.map((trouble) => <Tag key={trouble} kind={trouble === "not observed" ? "no_data" : "at_risk"} text={trouble} />)}</span>
      ),
      sort: ({ troubles }) => -troubles.length, value: ({ troubles }) => troubles.join(", "),
    },
    { title: "host", cell: ({ rank }) => <Place name={rank.host} />, sort: ({ rank }) => rank.host },
    { title: "GPU", cell: ({ rank }) => orDash([rank.cuda_device !== undefined ? `cuda ${rank.cuda_device}` : "", rank.gpu_pci_address].filter(Boolean).join(", ")) },
    { title: "NICs", cell: ({ rank }) => rank.nics.slice(0, 2).join(", ") + (rank.nics.length > 2 ? ` and ${rank.nics.length - 2} more` : ""), value: ({ rank }) => rank.nics.join(" ") },
    { title: "address", cell: ({ rank }) => orDash(rank.addresses.slice(0, 2).join(", ")), value: ({ rank }) => rank.addresses.join(" ") },
    { title: "sent", numeric: true, unit: "B", cell: ({ traffic }) => bytes(traffic.sent), sort: ({ traffic }) => traffic.sent },
    { title: "received", numeric: true, unit: "B", cell: ({ traffic }) => bytes(traffic.received), sort: ({ traffic }) => traffic.received },
    { title: "retransmitted packets", numeric: true, cell: ({ traffic }) => count(traffic.retransmitted), sort: ({ traffic }) => traffic.retransmitted },
    { title: "CE marks", numeric: true, cell: ({ traffic }) => count(traffic.ceMarked), sort: ({ traffic }) => traffic.ceMarked },
    { title: "QPs observed", numeric: true, cell: ({ rank }) => `${rank.queue_pairs.filter((qp) => qp.seen).length} of ${rank.queue_pairs.length}` },
    {
      title: "flows",
      cell: ({ rank }) => rank.rank !== undefined && <PathsLink job={job.job_id} rank={rank.rank} />,
      value: () => undefined,
    },
  ];
}

interface Props {
  job: Job;
  title: string; // the title of the job
  most?: number; // ranks to show at first
  state?: TableState;
}

export function RankTable({ job, title, most = 64, state }: Props) {
  const states = useMemo(() => rankStates(job), [job]);
  const columns = useMemo(() => columnsOf(job), [job]);
  return (
    <Table caption="Processes of the job" columns={columns} rows={states} most={most} file={`Ranks of ${title}`} {...state}
      rowClass={({ troubles }) => (troubles.includes("straggler") || troubles.includes("retransmissions") ? "row-fault" : "")}
      keyOf={({ rank }) => `${rank.rank} ${rank.host} ${rank.process_id} ${rank.cuda_device} ${rank.addresses[0] ?? ""}`} />
  );
}

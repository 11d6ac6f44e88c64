// SPDX-License-Identifier: BSD-3-Clause
// The job's processes, with the bytes that each sent and received.
import { useMemo } from "preact/hooks";
import type { Job, Rank } from "../api/messages";
import { bytes } from "../format/quantities";
import { Place, Tag } from "../parts/names";
import { href } from "../parts/route";
import { Table, type Column } from "../parts/table";

interface Sums {
  sent: number;
  got: number;
  retransmitted: number;
}

function sumEdges(job: Job): Map<number | undefined, Sums> {
  const sums = new Map<number | undefined, Sums>();
  const of = (rank: number | undefined) => {
    const found = sums.get(rank) ?? { sent: 0, got: 0, retransmitted: 0 };
    sums.set(rank, found);
    return found;
  };
  for (const edge of job.edges) {
    of(edge.source_rank).sent += Number(edge.bytes);
    of(edge.source_rank).retransmitted += Number(edge.retransmitted_packets);
    of(edge.destination_rank).got += Number(edge.bytes);
  }
  return sums;
}

function isStraggler(job: Job, rank: Rank): boolean {
  const { iteration_pattern: pattern } = job;
  const member = pattern?.straggler && pattern.members[pattern.straggler.member_index];
  return member !== undefined && rank.addresses.includes(member.address);
}

export function RankTable({ job }: { job: Job }) {
  const sums = useMemo(() => sumEdges(job), [job]);
  const sum = (rank: Rank) => sums.get(rank.rank) ?? { sent: 0, got: 0, retransmitted: 0 };
  const columns: Column<Rank>[] = [
    { title: "rank", numeric: true, cell: (rank) => rank.rank ?? "–", sort: (rank) => rank.rank ?? -1 },
    { title: "host", cell: (rank) => <Place name={rank.host} />, sort: (rank) => rank.host },
    { title: "GPU", cell: (rank) => [rank.cuda_device !== undefined ? `cuda ${rank.cuda_device}` : "", rank.gpu_pci_address].filter(Boolean).join(", ") || "–" },
    { title: "NICs", cell: (rank) => rank.nics.slice(0, 2).join(", ") + (rank.nics.length > 2 ? ` and ${rank.nics.length - 2} more` : "") },
    { title: "address", cell: (rank) => rank.addresses.slice(0, 2).join(", ") || "–" },
    { title: "QPs observed", numeric: true, cell: (rank) => `${rank.queue_pairs.filter((qp) => qp.seen).length} of ${rank.queue_pairs.length}` },
    { title: "sent", numeric: true, cell: (rank) => bytes(sum(rank).sent), sort: (rank) => sum(rank).sent },
    { title: "received", numeric: true, cell: (rank) => bytes(sum(rank).got), sort: (rank) => sum(rank).got },
    { title: "retransmitted packets", numeric: true, cell: (rank) => sum(rank).retransmitted, sort: (rank) => sum(rank).retransmitted },
    {
      title: "notes",
      cell: (rank) => (
        <>
          {isStraggler(job, rank) && <Tag kind="at_risk" text="straggler" />}{" "}
          {rank.rank !== undefined && <a href={href("paths", { job: job.job_id, source: String(rank.rank) })}>paths</a>}
        </>
      ),
    },
  ];
  return (
    <Table caption="Processes of the job" columns={columns} rows={job.ranks} most={32}
      keyOf={(rank) => `${rank.rank} ${rank.host} ${rank.process_id} ${rank.cuda_device} ${rank.addresses[0] ?? ""}`} />
  );
}

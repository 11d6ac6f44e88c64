// SPDX-License-Identifier: BSD-3-Clause
// The names that the search finds, from the data that is loaded.
import type {
  Finding, FindPathsResponse, GetJobResponse, JobSummary, ListFindingsResponse, ListJobsResponse, Topology,
} from "../api/messages";
import { hrefOfFinding } from "../findings/finding_id";
import { stateOf } from "../findings/severity";
import { shortTitle } from "../findings/titles";
import { enumName } from "../format/words";
import { href, hrefOfJob, hrefOfPlace, kViews } from "../parts/route";
import type { Item } from "./search_index";

export interface Loaded {
  views?: readonly (typeof kViews)[number][]; // those that the page offers; by default all
  topology?: Topology | undefined;
  jobs?: ListJobsResponse | undefined;
  findings?: ListFindingsResponse | undefined;
  jobDetails: GetJobResponse[];
  paths: FindPathsResponse[];
}

const viewItems = (views: Required<Loaded>["views"]): Item[] => views.map(({ name, title }) => ({ kind: "view", name: title, detail: "", href: href(name) }));

function findingItem(finding: Finding): Item {
  return { kind: "finding", name: shortTitle(finding), detail: `${stateOf(finding)} ${finding.kind}`, href: hrefOfFinding(finding) };
}

function jobItem({ job_id, allocation }: JobSummary): Item {
  const name = allocation?.name || job_id;
  const detail = [allocation?.user, allocation?.scheduler_job_id, name === job_id ? "" : job_id].filter(Boolean).join(" ");
  return { kind: "job", name, detail, href: hrefOfJob(job_id) };
}

function topologyItems(topology: Topology): Item[] {
  const nodes: Item[] = [], nics: Item[] = [], gpus: Item[] = [], addresses: Item[] = [], ports: Item[] = [];
  for (const node of topology.nodes) {
    const isHost = node.tier === "TIER_HOST";
    nodes.push({ kind: isHost ? "host" : "switch", name: node.name, detail: isHost ? "" : enumName(node.tier), href: hrefOfPlace(node.name) });
    for (const { device, addresses: own } of node.nics) {
      const name = `${node.name}:${device}`;
      nics.push({ kind: "NIC", name, detail: own.join(" "), href: hrefOfPlace(name) });
      for (const address of own) addresses.push({ kind: "address", name: address, detail: name, href: hrefOfPlace(name) });
    }
    for (const { index } of node.gpus) {
      const name = `${node.name}:gpu:${index}`;
      gpus.push({ kind: "GPU", name, detail: "", href: hrefOfPlace(name) });
    }
  }
  const isNic = new Set(nics.map((nic) => nic.name));
  for (const { a, b } of topology.links) {
    for (const [port, peer] of [[a, b], [b, a]] as const) {
      if (!isNic.has(port)) ports.push({ kind: "port", name: port, detail: `to ${peer}`, href: hrefOfPlace(port) });
    }
  }
  return [...nodes, ...nics, ...gpus, ...ports, ...addresses];
}

const qpItem = (qpn: number, detail: string, to: string): Item =>
  ({ kind: "QP", name: String(qpn), detail: `0x${qpn.toString(16)} ${detail}`, href: to });

function rankItems({ job }: GetJobResponse): Item[] {
  if (!job) return [];
  return job.ranks.flatMap((rank) => {
    const name = rank.rank === undefined ? "" : `rank ${rank.rank}`;
    const detail = `${job.job_id} ${rank.host}`;
    const ranks: Item[] = name ? [{ kind: "rank", name, detail, href: hrefOfJob(job.job_id) }] : [];
    return [...ranks, ...rank.queue_pairs.map(({ qpn }) => qpItem(qpn, `${detail} ${name}`.trim(), hrefOfJob(job.job_id)))];
  });
}

function flowItems({ paths }: FindPathsResponse): Item[] {
  return paths.map((flow) => qpItem(
    flow.destination_qpn, `${flow.source} → ${flow.destination}`,
    href("paths", { source: flow.source, destination: flow.destination }),
  ));
}

function culpritItems(finding: Finding): Item[] {
  return finding.culprits.map((flow) => qpItem(flow.destination_qpn, `${flow.source} → ${flow.destination} ${shortTitle(finding)}`, hrefOfFinding(finding)));
}

// One item for each destination: several answers can contain the same flow.
function unique(items: Item[]): Item[] {
  return [...new Map(items.map((item) => [`${item.kind} ${item.name} ${item.href}`, item])).values()];
}

export function collectItems({ views = kViews, topology, jobs, findings, jobDetails, paths }: Loaded): Item[] {
  const faults = [...(findings?.findings ?? []), ...(findings?.suspected_findings ?? [])];
  return [
    ...viewItems(views),
    ...faults.map(findingItem),
    ...(jobs?.jobs ?? []).map(jobItem),
    ...(topology ? topologyItems(topology) : []),
    ...unique([...jobDetails.flatMap(rankItems), ...faults.flatMap(culpritItems), ...paths.flatMap(flowItems)]),
  ];
}

// SPDX-License-Identifier: BSD-3-Clause
// A file cannot store a response for every pair of ends. This selects the paths between two ends
// from the stored paths of the jobs, as the appliance does from all paths.
import type { Answer } from "./data_source";
import type { FindPathsResponse, FlowPath, GetJobResponse, Topology } from "./messages";

type Stored = Record<string, unknown>;

const kPaths = "/api/v1/paths";

interface End {
  nics: Set<string>;
  addresses: Set<string>;
}

// A rank of the job, or undefined if the file does not contain it.
function resolveRank(stored: Stored, rank: number, job: string): End | undefined {
  const answer = stored[`/api/v1/jobs/${encodeURIComponent(job)}`] as GetJobResponse | undefined;
  const found = answer?.job?.ranks.find((candidate) => candidate.rank === rank);
  return found && { nics: new Set(), addresses: new Set(found.addresses) };
}

// A host stands for all of its NICs. Undefined if the file does not contain the name: then nothing is
// known about its traffic.
function resolveEnd(stored: Stored, name: string, job: string, paths: FlowPath[]): End | undefined {
  if (job && /^\d+$/.test(name)) return resolveRank(stored, Number(name), job);
  const { nodes = [] } = (stored["/api/v1/topology"] as Topology | undefined) ?? {};
  const gpu = /^(.+):gpu:(\d+)$/.exec(name);
  for (const node of nodes) {
    const nic = (device: string) => `${node.name}:${device}`;
    if (node.name === name && node.nics.length > 0) {
      return { nics: new Set(node.nics.map(({ device }) => nic(device))), addresses: new Set(node.nics.flatMap(({ addresses }) => addresses)) };
    }
    const near = node.name === gpu?.[1] ? node.gpus.find(({ index }) => index === Number(gpu?.[2]))?.nic : undefined;
    const found = node.nics.find(({ device, addresses }) => nic(device) === name || device === near || addresses.includes(name));
    if (found) return { nics: new Set([nic(found.device)]), addresses: new Set(found.addresses) };
  }
  const isOfFlow = paths.some((flow) => [flow.source_nic, flow.source, flow.destination_nic, flow.destination].includes(name));
  return isOfFlow ? { nics: new Set([name]), addresses: new Set([name]) } : undefined;
}

// The stored lists of paths: of one job, or of all.
function storedLists(stored: Stored, job: string): FindPathsResponse[] {
  const whole = stored[kPaths] as FindPathsResponse | undefined;
  if (whole && !job) return [whole];
  const wanted = job ? `${kPaths}?job_id=${encodeURIComponent(job)}` : `${kPaths}?job_id=`;
  return Object.entries(stored)
    .filter(([path]) => (job ? path === wanted : path.startsWith(wanted)))
    .map(([, value]) => value as FindPathsResponse);
}

const uses = (flow: FlowPath, ports: ReadonlySet<string>) =>
  flow.intervals.some((interval) => interval.ports.some((port) => ports.has(port)) || interval.shares.some(({ port }) => ports.has(port)));

// The jobs with a flow whose path contains one of the ports, and whether all of their flows are stored.
// Undefined if the file has no paths.
export function storedJobsAt(stored: Stored, ports: string[]): { jobs: string[]; isComplete: boolean } | undefined {
  const prefix = `${kPaths}?job_id=`;
  const lists = Object.entries(stored).filter(([path]) => path.startsWith(prefix)) as [string, FindPathsResponse][];
  if (lists.length === 0) return undefined;
  const wanted = new Set(ports);
  return {
    jobs: lists.filter(([, { paths }]) => paths.some((flow) => uses(flow, wanted))).map(([path]) => decodeURIComponent(path.slice(prefix.length))),
    isComplete: lists.every(([, { paths, total_size }]) => paths.length >= total_size),
  };
}

// Undefined if the request does not name two ends, or the file does not contain the job.
export function findStoredPaths(stored: Stored, path: string): Answer | undefined {
  if (!path.startsWith(`${kPaths}?`)) return undefined;
  const query = new URLSearchParams(path.slice(kPaths.length + 1));
  const job = query.get("job_id") ?? "";
  const [source, destination] = [query.get("source"), query.get("destination")];
  const lists = storedLists(stored, job);
  if (!source || !destination || (job && lists.length === 0)) return undefined;
  if (lists.length === 0) return { kind: "not_stored", message: "A file contains only the flows of jobs, and this one has no jobs." };
  const all = lists.flatMap(({ paths }) => paths);
  const [from, to] = [resolveEnd(stored, source, job, all), resolveEnd(stored, destination, job, all)];
  if (!from || !to) {
    const name = from ? destination : source;
    const what = job && /^\d+$/.test(name) ? `rank ${name} of the job "${job}"` : `the end "${name}"`;
    return { kind: "not_stored", message: `This file does not contain ${what}.` };
  }
  const paths = all.filter(
    (flow) =>
      (from.nics.has(flow.source_nic) || from.addresses.has(flow.source)) &&
      (to.nics.has(flow.destination_nic) || to.addresses.has(flow.destination)),
  );
  return { kind: "answer", value: { paths, total_size: paths.length, next_page_token: "" } };
}

// SPDX-License-Identifier: BSD-3-Clause
// A file cannot store a response for every pair of ends. This selects the paths between two ends
// from all stored paths, as the appliance does.
import type { FindPathsResponse, FlowPath, GetJobResponse, Topology } from "./messages";

const kPaths = "/api/v1/paths";

interface End {
  nics: Set<string>;
  addresses: Set<string>;
}

function resolveEnd(stored: Record<string, unknown>, name: string, job: string): End {
  const end: End = { nics: new Set([name]), addresses: new Set([name]) };
  const topology = stored["/api/v1/topology"] as Topology | undefined;
  const gpu = /^(.+):gpu:(\d+)$/.exec(name);
  const node = topology?.nodes.find((candidate) => candidate.name === gpu?.[1]);
  const nic = node?.gpus.find((candidate) => candidate.index === Number(gpu?.[2]))?.nic;
  if (nic) end.nics.add(`${node?.name}:${nic}`);
  if (job && /^\d+$/.test(name)) {
    const answer = stored[`/api/v1/jobs/${encodeURIComponent(job)}`] as GetJobResponse | undefined;
    const rank = answer?.job?.ranks.find((candidate) => candidate.rank === Number(name));
    rank?.addresses.forEach((address) => end.addresses.add(address));
  }
  return end;
}

function allStored(stored: Record<string, unknown>, job: string): FlowPath[] {
  const whole = stored[kPaths] as FindPathsResponse | undefined;
  if (whole && !job) return whole.paths;
  const wanted = job ? `${kPaths}?job_id=${encodeURIComponent(job)}` : `${kPaths}?job_id=`;
  return Object.entries(stored)
    .filter(([path]) => (job ? path === wanted : path.startsWith(wanted)))
    .flatMap(([, value]) => (value as FindPathsResponse).paths);
}

// Undefined if the request does not name two ends, or the file has no paths.
export function findStoredPaths(
  stored: Record<string, unknown>,
  path: string,
): FindPathsResponse | undefined {
  if (!path.startsWith(`${kPaths}?`)) return undefined;
  const query = new URLSearchParams(path.slice(kPaths.length + 1));
  const job = query.get("job_id") ?? "";
  const [source, destination] = [query.get("source"), query.get("destination")];
  const all = allStored(stored, job);
  if (!source || !destination || all.length === 0) return undefined;
  const [from, to] = [resolveEnd(stored, source, job), resolveEnd(stored, destination, job)];
  const paths = all.filter(
    (flow) =>
      (from.nics.has(flow.source_nic) || from.addresses.has(flow.source)) &&
      (to.nics.has(flow.destination_nic) || to.addresses.has(flow.destination)),
  );
  return { paths, total_size: paths.length, next_page_token: "" };
}

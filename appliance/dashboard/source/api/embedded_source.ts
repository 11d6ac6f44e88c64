// SPDX-License-Identifier: BSD-3-Clause
// Responses that are embedded in the HTML file by `rocescope replay -o html`: an object that maps
// request paths to responses.
import { buildFabric, resolvePlace, type Fabric } from "../fabric/model";
import type { Answer, DataSource, SourceListener } from "./data_source";
import type { ListHotspotsResponse, ListJobsResponse, Topology } from "./messages";
import { findStoredPaths, storedJobsAt } from "./stored_paths";

export const kDataElement = "rocescope-data";

// Undefined if the page has no embedded data.
export function readEmbedded(page: Document): Record<string, unknown> | undefined {
  const text = page.getElementById(kDataElement)?.textContent;
  if (!text) return undefined;
  return JSON.parse(text) as Record<string, unknown>;
}

function withQuery(base: string, query: Iterable<[string, string]>): string {
  const rest = [...query].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
  return rest ? `${base}?${rest}` : base;
}

const kJob = "/api/v1/jobs/";

export class EmbeddedSource implements DataSource {
  readonly live = false;
  private fabric?: Fabric | undefined;

  constructor(private readonly stored: Record<string, unknown>) {}

  async get(path: string): Promise<Answer> {
    return this.find(path);
  }

  offers(path: string): boolean {
    return this.find(path).kind === "answer";
  }

  offersPlace(place: string): boolean {
    const topology = this.stored["/api/v1/topology"] as Topology | undefined;
    this.fabric ??= topology && buildFabric(topology);
    return this.fabric !== undefined && resolvePlace(this.fabric, place) !== undefined;
  }

  jobsAt(ports: string[]) {
    return storedJobsAt(this.stored, ports);
  }

  watch(listener: SourceListener): () => void {
    listener.connection("steady");
    return () => {};
  }

  private find(path: string): Answer {
    if (this.stored[path] !== undefined) return { kind: "answer", value: this.stored[path] };
    const plain = this.plain(path);
    const value = this.stored[plain] ?? this.hotspotsOfJob(plain);
    if (value !== undefined) return { kind: "answer", value };
    return findStoredPaths(this.stored, plain) ?? { kind: "not_stored", message: this.reason(plain) };
  }

  // A file stores complete lists, so paging parameters do not matter. Views that send a filter also
  // filter themselves. Jobs are stored by their ID.
  private plain(path: string): string {
    const [base = "", query = ""] = path.split("?");
    const kept = new URLSearchParams(query);
    kept.delete("page_size");
    kept.delete("page_token");
    kept.delete("filter");
    const job = kept.get("job_id");
    if (job) kept.set("job_id", this.idOfJob(job) ?? job);
    if (!base.startsWith(kJob)) return withQuery(base, kept);
    const name = decodeURIComponent(base.slice(kJob.length));
    return withQuery(`${kJob}${encodeURIComponent(this.idOfJob(name) ?? name)}`, kept);
  }

  // As for the appliance, a job is named by its ID, or by its name or number in the scheduler if only
  // one job has it. Undefined if it is unknown.
  private idOfJob(name: string): string | undefined {
    const { jobs = [] } = (this.stored["/api/v1/jobs"] as ListJobsResponse | undefined) ?? {};
    if (jobs.some((job) => job.job_id === name)) return name;
    const named = jobs.filter(({ allocation }) => allocation && [allocation.name, allocation.scheduler_job_id].includes(name));
    return named.length === 1 ? named[0]?.job_id : undefined;
  }

  // The hotspots of a job that is not in the list of jobs.
  private hotspotsOfJob(plain: string): ListHotspotsResponse | undefined {
    const all = this.stored["/api/v1/hotspots"] as ListHotspotsResponse | undefined;
    const job = /^\/api\/v1\/hotspots\?job_id=([^&]+)$/.exec(plain)?.[1];
    if (!all || job === undefined || all.hotspots.length < all.total_size) return undefined;
    const hotspots = all.hotspots.filter(({ lost_times }) => lost_times.some(({ job_id }) => job_id === decodeURIComponent(job)));
    return hotspots.length > 0 ? { ...all, hotspots, total_size: hotspots.length } : undefined;
  }

  // Why there is no answer: never that something did not happen.
  private reason(plain: string): string {
    const [base = "", query = ""] = plain.split("?");
    if (base.startsWith("/api/v1/history/")) return "A file has no history.";
    const job = base.startsWith(kJob) ? decodeURIComponent(base.slice(kJob.length)) : new URLSearchParams(query).get("job_id");
    if (job && this.idOfJob(job) === undefined) return `This file does not contain the job "${job}".`;
    const element = new URLSearchParams(query).get("element");
    if (element) return `This file does not contain the dependents of "${element}".`;
    return "This file does not contain the requested data.";
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// The paths between two ends that the user enters.
import { useMemo, useState } from "preact/hooks";
import type { FindPathsResponse, ListJobsResponse, Topology } from "../api/messages";
import { kMaxPageSize } from "../api/whole_list";
import { count } from "../format/quantities";
import { Await, Notice } from "../parts/await";
import { useReference } from "../parts/reference";
import { choose, href, type Route } from "../parts/route";
import { PathList } from "../paths/path_list";
import { useResource } from "../store/use_store";

const kFirst = 100;
const kEndsOffered = 5000; // more would make the browser's list slow

function endsOf(topology: Topology | undefined): string[] {
  return (topology?.nodes ?? []).flatMap((node) => [
    ...node.gpus.map((gpu) => `${node.name}:gpu:${gpu.index}`),
    ...node.nics.map((nic) => `${node.name}:${nic.device}`),
  ]).slice(0, kEndsOffered);
}

function PathForm({ route }: { route: Route }) {
  const topology = useResource<Topology>("/api/v1/topology");
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  const ends = useMemo(() => endsOf(topology.value), [topology.value]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const of = (name: string) => String(form.get(name) ?? "").trim();
    choose(route, { source: of("source"), destination: of("destination"), job: of("job") });
  };
  const { source = "", destination = "", job = "" } = route.query;
  return (
    <form class="path-form" onSubmit={submit}>
      <label>From <input name="source" list="path-ends" defaultValue={source} key={`s${source}`} placeholder="host0:gpu:0" autocomplete="off" /></label>
      <label>to <input name="destination" list="path-ends" defaultValue={destination} key={`d${destination}`} placeholder="host3:mlx5_0" autocomplete="off" /></label>
      <label>of job <input name="job" list="path-jobs" defaultValue={job} key={`j${job}`} placeholder="any" autocomplete="off" /></label>
      <button type="submit">Show paths</button>
      <p class="muted">
        An end is a GPU (HOST:gpu:NUMBER), a NIC (HOST:DEVICE), an IP address, or a rank if a job is given. A job without ends shows all of its flows.
      </p>
      <datalist id="path-ends">{ends.map((end) => <option key={end} value={end} />)}</datalist>
      <datalist id="path-jobs">
        {(jobs.value?.jobs ?? []).map((candidate) => (
          <option key={candidate.job_id} value={candidate.job_id}>{candidate.allocation?.name}</option>
        ))}
      </datalist>
    </form>
  );
}

export function PathsView({ route }: { route: Route }) {
  const [most, setMost] = useState(kFirst);
  const { source = "", destination = "", job = "" } = route.query;
  const asked = (source !== "" && destination !== "") || (job !== "" && source === "" && destination === "");
  const query = new URLSearchParams();
  if (source) query.set("source", source);
  if (destination) query.set("destination", destination);
  if (job) query.set("job_id", job);
  query.set("page_size", String(most));
  const answer = useResource<FindPathsResponse>(asked ? `/api/v1/paths?${query}` : "");
  const reference = useReference();
  return (
    <>
      <h1>Paths</h1>
      <PathForm route={route} />
      {!asked && (
        <Notice kind="empty" title={source || destination ? "Enter the other end too." : "Enter two ends, or a job."}>
          Or select two hosts on the <a href={href("fabric")}>map</a>.
        </Notice>
      )}
      {asked && (
        <Await resource={answer} what="paths">
          {(value) => (
            <>
              {value.paths.length === 0 && (
                <Notice kind="empty" title="No flow between these two ends was observed." />
              )}
              {value.paths.length > 0 && (
                <p>
                  {count(value.paths.length)} of {count(value.total_size)} flows.{" "}
                  {source && destination && (
                    <>
                      <a href={href("fabric", { from: source, to: destination })}>On the map</a>{" "}
                      <a href={href("paths", { source: destination, destination: source, job })}>Reverse direction</a>
                    </>
                  )}
                </p>
              )}
              <PathList paths={value.paths} reference={reference} />
              {value.paths.length < value.total_size && most < kMaxPageSize && (
                <button type="button" onClick={() => setMost(kMaxPageSize)}>Show more</button>
              )}
            </>
          )}
        </Await>
      )}
    </>
  );
}

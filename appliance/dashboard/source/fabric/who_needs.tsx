// SPDX-License-Identifier: BSD-3-Clause
// The impact of the selected element: the jobs, ranks and other elements that depend on it.
import type { GetDependenciesResponse } from "../api/messages";
import { count } from "../format/quantities";
import { Await } from "../parts/await";
import { JobLink } from "../parts/names";
import { useResource } from "../store/use_store";

const kNamesShown = 12;

export function WhoNeeds({ place }: { place: string }) {
  const path = `/api/v1/dependencies?blast_radius=${encodeURIComponent(place)}`;
  const answer = useResource<GetDependenciesResponse>(path);
  return (
    <section aria-labelledby="who-title" class="who">
      <h2 id="who-title">Dependents of {place}</h2>
      <Await resource={answer} what="dependencies">
        {({ dependency, coverage }) => (
          <>
            {dependency?.elements.map(({ kind, elements }) => (
              <p key={kind}>
                <strong>{count(elements.length)} {kind}{elements.length === 1 ? "" : "s"}</strong>{" "}
                {elements.slice(0, kNamesShown).map(({ name }) => (
                  <span key={name} class="name">{kind === "job" ? <JobLink id={name} /> : name} </span>
                ))}
                {elements.length > kNamesShown && "…"}
              </p>
            ))}
            {dependency?.elements.length === 0 && <p>No known dependents.</p>}
            {coverage && (
              <p class="muted">
                Paths are known for {count(coverage.known)} of {count(coverage.flows)} flows, and partly for{" "}
                {count(coverage.partly)}. {count(coverage.unclaimed)} flows belong to no known job.
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// The blast radius of what was chosen: the jobs, ranks and so on that use it.
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
      <h2 id="who-title">Who needs {place}</h2>
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
            {dependency?.elements.length === 0 && <p>Nobody that is known.</p>}
            {coverage && (
              <p class="muted">
                The ways of {count(coverage.known)} of {count(coverage.flows)} flows are known, of{" "}
                {count(coverage.partly)} in part; {count(coverage.unclaimed)} flows belong to no known job.
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
}

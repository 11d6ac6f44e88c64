// SPDX-License-Identifier: BSD-3-Clause
// The blast radius of the selected element: the jobs, ranks and other elements that depend on it.
import type { GetDependenciesResponse } from "../api/messages";
import { count, plural } from "../format/quantities";
import { enumWords } from "../format/words";
import { Await } from "../parts/await";
import { JobLink, Place } from "../parts/names";
import { useSource } from "../parts/offered";
import { href } from "../parts/route";
import { PresentNote } from "../past/past_view";
import { useResource } from "../store/use_store";

const kNamesShown = 12;
const kOnMap = new Set(["GPU", "HOST", "NIC", "PORT", "LINK", "SWITCH"].map((kind) => `ELEMENT_KIND_${kind}`));

export function dependentsPath(element: string): string {
  return `/api/v1/dependencies?${new URLSearchParams({ question: "QUESTION_BLAST_RADIUS", element })}`;
}

// Nothing if the page does not contain the dependents of the element.
export function DependentsLink({ element, text }: { element: string; text: string }) {
  const source = useSource();
  const isOffered = (source?.offers?.(dependentsPath(element)) ?? true) && (source?.offersPlace?.(element) ?? true);
  return isOffered ? <a href={href("fabric", { at: element, dependents: "1" })}>{text}</a> : null;
}

export function Dependents({ element }: { element: string }) {
  const answer = useResource<GetDependenciesResponse>(dependentsPath(element));
  return (
    <section aria-labelledby="dependents-title" class="dependents">
      <h2 id="dependents-title">Dependents of {element}</h2>
      <PresentNote what="dependents" />
      <Await resource={answer} what="dependents">
        {({ dependency, coverage }) => (
          <>
            {dependency?.elements.map(({ kind, elements }) => (
              <p key={kind}>
                <strong>{plural(elements.length, enumWords(kind) || "element")}</strong>{" "}
                {elements.slice(0, kNamesShown).map(({ name }) => (
                  <span key={name} class="name">{kind === "ELEMENT_KIND_JOB" ? <JobLink id={name} /> : kOnMap.has(kind) ? <Place name={name} /> : name} </span>
                ))}
                {elements.length > kNamesShown && <span class="muted">and {count(elements.length - kNamesShown)} more</span>}
              </p>
            ))}
            {dependency?.elements.length === 0 && <p>No known dependents.</p>}
            {coverage && (
              <p class="muted">
                Paths are known for {count(coverage.known_flow_count)} of {count(coverage.flow_count)} flows, and partly for{" "}
                {count(coverage.partly_known_flow_count)}. {count(coverage.unclaimed_flow_count)} flows belong to no known job.
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
}

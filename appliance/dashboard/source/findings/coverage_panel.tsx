// SPDX-License-Identifier: BSD-3-Clause
// What there was to find faults by, and what could not have been found.
import type { DiagnosisCoverage } from "../api/messages";
import { count, duration } from "../format/quantities";
import { kObstacles, words } from "../format/words";
import { Notice } from "../parts/await";
import { Tag } from "../parts/names";

const kSilencesShown = 8;

function Of({ told, of }: { told: number; of: number }) {
  return <>{count(told)} of {count(of)}</>;
}

export function CoveragePanel({ coverage }: { coverage: DiagnosisCoverage }) {
  const obstacle = kObstacles[coverage.obstacle] ?? coverage.obstacle;
  const silences = coverage.silences.slice(0, kSilencesShown);
  return (
    <section aria-labelledby="coverage-title" class="coverage">
      <h2 id="coverage-title">What was looked at</h2>
      {obstacle && <Notice kind="caution" title={obstacle} />}
      {coverage.given_up && <Notice kind="caution" title={`Of late, ${coverage.given_up}.`} />}
      <dl class="facts">
        <div><dt>analysis windows with counters</dt><dd>{count(coverage.windows)} × {duration(coverage.window_ns)}</dd></div>
        <div><dt>flows whose ways were looked at</dt><dd>{count(coverage.flows)}</dd></div>
        <div><dt>switches that told counters</dt><dd><Of told={coverage.switches} of={coverage.switches_of} /></dd></div>
        <div><dt>NICs</dt><dd><Of told={coverage.nics} of={coverage.nics_of} /></dd></div>
        <div><dt>GPUs</dt><dd><Of told={coverage.gpus} of={coverage.gpus_of} /></dd></div>
        <div>
          <dt>counters are read every</dt>
          <dd>{coverage.reading_period_ns === "0" ? "not known" : duration(coverage.reading_period_ns)}</dd>
        </div>
        <div><dt>addresses that the topology knows</dt><dd><Of told={coverage.addresses_known} of={coverage.addresses} /></dd></div>
      </dl>
      <h3>Could not have been found</h3>
      {coverage.not_seen.length === 0 ? (
        <p>No known kind of fault is out of sight.</p>
      ) : (
        <p class="tags">{coverage.not_seen.map((kind) => <Tag key={kind} kind="unseen" text={words(kind)} />)}</p>
      )}
      {silences.length > 0 && (
        <>
          <h3>Silent while others told counters</h3>
          <p>
            {silences.map((silence) => `${silence.node} (${silence.windows} windows)`).join(", ")}
            {coverage.silences.length > kSilencesShown && ` and ${coverage.silences.length - kSilencesShown} more`}
          </p>
        </>
      )}
    </section>
  );
}

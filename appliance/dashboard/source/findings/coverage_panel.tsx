// SPDX-License-Identifier: BSD-3-Clause
// The telemetry that the diagnosis used, and the fault types that are not detectable with it.
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
      <h2 id="coverage-title">Telemetry coverage</h2>
      {obstacle && <Notice kind="caution" title={obstacle} />}
      {coverage.given_up && <Notice kind="caution" title={`Incomplete data: ${coverage.given_up}.`} />}
      <dl class="facts">
        <div><dt>analysis windows with counters</dt><dd>{count(coverage.windows)} × {duration(coverage.window_ns)}</dd></div>
        <div><dt>flows with analysed paths</dt><dd>{count(coverage.flows)}</dd></div>
        <div><dt>switches that reported counters</dt><dd><Of told={coverage.switches} of={coverage.switches_of} /></dd></div>
        <div><dt>NICs</dt><dd><Of told={coverage.nics} of={coverage.nics_of} /></dd></div>
        <div><dt>GPUs</dt><dd><Of told={coverage.gpus} of={coverage.gpus_of} /></dd></div>
        <div>
          <dt>counter polling interval</dt>
          <dd>{coverage.reading_period_ns === "0" ? "unknown" : duration(coverage.reading_period_ns)}</dd>
        </div>
        <div><dt>addresses that are in the topology</dt><dd><Of told={coverage.addresses_known} of={coverage.addresses} /></dd></div>
      </dl>
      <h3>Not detectable with this telemetry</h3>
      {coverage.not_seen.length === 0 ? (
        <p>All known fault types are detectable.</p>
      ) : (
        <p class="tags">{coverage.not_seen.map((kind) => <Tag key={kind} kind="unseen" text={words(kind)} />)}</p>
      )}
      {silences.length > 0 && (
        <>
          <h3>Nodes without counters while others reported</h3>
          <p>
            {silences.map((silence) => `${silence.node} (${silence.windows} windows)`).join(", ")}
            {coverage.silences.length > kSilencesShown && ` and ${coverage.silences.length - kSilencesShown} more`}
          </p>
        </>
      )}
    </section>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// The telemetry that the diagnosis used, and the fault types that are not detectable with it.
import type { DiagnosisCoverage } from "../api/messages";
import { count, duration } from "../format/quantities";
import { obstacleText, words } from "../format/words";
import { Notice } from "../parts/await";
import { Place, Tag } from "../parts/names";

const kSilencesShown = 8;
const kPortsShown = 8;
const kSwitchesShown = 8;

function OutOf({ part, total }: { part: number; total: number }) {
  return <>{count(part)} of {count(total)}</>;
}

function Places({ names }: { names: string[] }) {
  return <>{names.map((name, i) => <span key={name}>{i > 0 && ", "}<Place name={name} /></span>)}</>;
}

export function CoveragePanel({ coverage }: { coverage: DiagnosisCoverage }) {
  const obstacle = obstacleText(coverage.obstacle);
  const silences = coverage.silences.slice(0, kSilencesShown);
  return (
    <section aria-labelledby="coverage-title" class="coverage">
      <h2 id="coverage-title">Telemetry coverage</h2>
      {obstacle && <Notice kind="caution" title={obstacle} />}
      {coverage.dropped_records_note && <Notice kind="caution" title={`Incomplete data: ${coverage.dropped_records_note}.`} />}
      <dl class="facts">
        <div><dt>analysis windows with counters</dt><dd>{count(coverage.window_count)} × {duration(coverage.window_duration)}</dd></div>
        <div><dt>flows with analysed paths</dt><dd>{count(coverage.flow_count)}</dd></div>
        <div><dt>switches that reported counters</dt><dd><OutOf part={coverage.reporting_switch_count} total={coverage.total_switch_count} /></dd></div>
        <div><dt>NICs</dt><dd><OutOf part={coverage.reporting_nic_count} total={coverage.total_nic_count} /></dd></div>
        <div><dt>GPUs</dt><dd><OutOf part={coverage.reporting_gpu_count} total={coverage.total_gpu_count} /></dd></div>
        <div>
          <dt>counter polling interval</dt>
          <dd>{coverage.polling_interval ? duration(coverage.polling_interval) : "unknown"}</dd>
        </div>
        <div><dt>addresses that are in the topology</dt><dd><OutOf part={coverage.known_address_count} total={coverage.address_count} /></dd></div>
      </dl>
      <h3>Not detectable with this telemetry</h3>
      {coverage.undetectable_kinds.length === 0 ? (
        <p>All known fault types are detectable.</p>
      ) : (
        <p class="tags">{coverage.undetectable_kinds.map((kind) => <Tag key={kind} kind="undetectable" text={words(kind)} />)}</p>
      )}
      {coverage.blind_spots.length > 0 && (
        <>
          <h3>Not detectable at some switches</h3>
          <ul>
            {coverage.blind_spots.map((spot) => (
              <li key={spot.kind}>
                {words(spot.kind)}: <Places names={spot.switches.slice(0, kSwitchesShown)} />
                {spot.switches.length > kSwitchesShown && ` and ${spot.switches.length - kSwitchesShown} more`}
              </li>
            ))}
          </ul>
        </>
      )}
      {coverage.unusable_counters.length > 0 && (
        <>
          <h3>Packet counters that are not used</h3>
          <ul>
            {coverage.unusable_counters.map((unusable) => (
              <li key={unusable.reason}>
                <Places names={unusable.ports.slice(0, kPortsShown)} />
                {unusable.ports.length > kPortsShown && ` and ${unusable.ports.length - kPortsShown} more ports`}
                {": "}{unusable.reason}
              </li>
            ))}
          </ul>
        </>
      )}
      {silences.length > 0 && (
        <>
          <h3>Nodes without counters while others reported</h3>
          <p>
            {silences.map((silence, i) => <span key={silence.node}>{i > 0 && ", "}<Place name={silence.node} /> ({silence.window_count} windows)</span>)}
            {coverage.silences.length > kSilencesShown && ` and ${coverage.silences.length - kSilencesShown} more`}
          </p>
        </>
      )}
    </section>
  );
}

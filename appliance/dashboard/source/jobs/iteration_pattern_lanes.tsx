// SPDX-License-Identifier: BSD-3-Clause
// A timeline of the collectives in an iteration, inferred from the traffic.
import type { Collective, IterationPattern } from "../api/messages";
import { relative, utcFull, type Reference } from "../format/moments";
import { bytes, count, duration, percent, toNanoseconds } from "../format/quantities";
import { enumWords } from "../format/words";
import { Notice } from "../parts/await";
import { Place, Share } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { laneTitle, memberName, swimlanes, type Swimlane } from "./swimlanes";

const kTicks = 4;

function groupsText(collective: Collective): string {
  const sizes = collective.groups.map((group) => group.member_indexes.length);
  const [first = 0] = sizes;
  const even = sizes.every((size) => size === first);
  return even ? `${count(sizes.length)} × ${count(first)} NICs` : `${count(sizes.length)} groups of NICs`;
}

// What the bars show, as text.
function columnsOf(): Column<Collective>[] {
  const ns = (value: Collective["offset"]) => toNanoseconds(value);
  return [
    { title: "collective", cell: (row) => enumWords(row.kind) || "unknown", sort: (row) => enumWords(row.kind) },
    { title: "start", numeric: true, unit: "ns", hint: "after the start of the iteration", cell: (row) => duration(row.offset), sort: (row) => ns(row.offset) },
    { title: "duration", numeric: true, unit: "ns", cell: (row) => duration(row.duration), sort: (row) => ns(row.duration) },
    { title: "payload", numeric: true, unit: "B", cell: (row) => bytes(row.payload_bytes), sort: (row) => Number(row.payload_bytes) },
    { title: "groups", cell: groupsText },
    { title: "confidence", numeric: true, unit: "0 to 1", cell: (row) => percent(row.confidence), sort: (row) => row.confidence },
    { title: "alternative", cell: (row) => enumWords(row.alternative) || "–" },
  ];
}

interface BarProps {
  collective: Collective;
  index: number;
  period: number;
  delayNs?: number;
}

// A collective that extends beyond the iteration's end wraps around to its start.
function Bars({ collective, index, period, delayNs = 0 }: BarProps) {
  const [offsetNs, durationNs] = [toNanoseconds(collective.offset) + delayNs, toNanoseconds(collective.duration)];
  const [offset, length] = [offsetNs / period, durationNs / period];
  const over = Math.max(0, offset + length - 1);
  const span = `${enumWords(collective.kind) || "unknown"}: ${duration(offsetNs)} to ${duration(offsetNs + durationNs)}`;
  const bar = (left: number, width: number) => (
    <span class={`lane-bar lane-bar-${index % 5}`} title={span} style={{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.4)}%` }} />
  );
  return (
    <>
      {delayNs > 0 && <span class="lane-wait" title={`starts ${duration(delayNs)} late`} style={{ left: `${((offsetNs - delayNs) / period) * 100}%`, width: `${(delayNs / period) * 100}%` }} />}
      {bar(offset, Math.min(length, 1 - offset))}
      {over > 0 && bar(0, Math.min(over, 1))}
    </>
  );
}

function MemberLane({ pattern, lane, period }: { pattern: IterationPattern; lane: Swimlane; period: number }) {
  const delayNs = lane.isStraggler ? toNanoseconds(pattern.straggler?.delay) : 0;
  return (
    <>
      <div class="lane-title">
        {laneTitle(pattern, lane)}
        {lane.isStraggler && <p class="muted">straggler, {duration(delayNs)} late</p>}
      </div>
      <div class="lane lane-small">
        {lane.collectives.map((index) => {
          const collective = pattern.collectives[index];
          return collective && <Bars key={index} collective={collective} index={index} period={period} delayNs={delayNs} />;
        })}
      </div>
    </>
  );
}

const kLanesShown = 32;

function Swimlanes({ pattern, period }: { pattern: IterationPattern; period: number }) {
  const lanes = swimlanes(pattern);
  return (
    <section aria-labelledby="swimlanes-title">
      <h2 id="swimlanes-title">NICs</h2>
      <div class="lanes">
        {lanes.slice(0, kLanesShown).map((lane, i) => <MemberLane key={i} pattern={pattern} lane={lane} period={period} />)}
        <div class="lane-title" />
        <Ticks period={period} />
      </div>
      {lanes.length > kLanesShown && <p class="muted">{count(kLanesShown)} of {count(lanes.length)} sets of NICs are shown.</p>}
    </section>
  );
}

function Ticks({ period }: { period: number }) {
  const ticks = Array.from({ length: kTicks + 1 }, (_, i) => i / kTicks);
  return (
    <div class="lane-ticks" aria-hidden="true">
      {ticks.map((tick) => <span key={tick} style={{ left: `${tick * 100}%` }}>{duration(tick * period)}</span>)}
    </div>
  );
}

function Lane({ collective, index, period }: { collective: Collective; index: number; period: number }) {
  const alternative = enumWords(collective.alternative);
  return (
    <>
      <div class="lane-title">
        <strong>{enumWords(collective.kind) || "unknown"}</strong>
        {alternative && <span class="muted"> or {alternative}</span>}
        <p class="muted">
          {groupsText(collective)}, {bytes(collective.payload_bytes)}, {duration(collective.duration)},{" "}
          confidence {percent(collective.confidence)}
        </p>
      </div>
      <div class="lane">
        <Bars collective={collective} index={index} period={period} />
      </div>
    </>
  );
}

export function IterationPatternLanes({ pattern, reference }: { pattern: IterationPattern; reference: Reference }) {
  const period = toNanoseconds(pattern.period) || 1;
  const { straggler } = pattern;
  return (
    <>
      <p class="muted">
        Iteration period {duration(pattern.period)}, {count(pattern.iteration_count)} complete iterations observed,{" "}
        {count(pattern.members.length)} NICs; <Share value={pattern.strength} label="similarity" />
      </p>
      <div class="lanes">
        {pattern.collectives.map((collective, i) => <Lane key={i} collective={collective} index={i} period={period} />)}
        <div class="lane-title" />
        <Ticks period={period} />
      </div>
      <Table caption="Collectives of an iteration" columns={columnsOf()} rows={pattern.collectives} file="Collectives"
        keyOf={(collective) => `${collective.kind} ${collective.offset}`} />
      {straggler && (
        <Notice kind="caution" title={`Straggler: ${memberName(pattern.members[straggler.member_index])}`}>
          <Place name={memberName(pattern.members[straggler.member_index])} /> starts {duration(straggler.delay)} after the median of the other NICs in {count(straggler.late_iteration_count)} of{" "}
          {count(straggler.total_iteration_count)} iterations; <time title={utcFull(straggler.start_time)}>first {relative(straggler.start_time, reference)}</time>;{" "}
          confidence {percent(straggler.confidence)}.
        </Notice>
      )}
      <Swimlanes pattern={pattern} period={period} />
    </>
  );
}

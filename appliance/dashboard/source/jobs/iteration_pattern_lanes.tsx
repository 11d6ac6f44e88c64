// SPDX-License-Identifier: BSD-3-Clause
// A timeline of the collectives in an iteration, inferred from the traffic.
import type { Collective, IterationPattern, IterationPatternMember } from "../api/messages";
import { relative, utcFull, type Reference } from "../format/moments";
import { bytes, count, duration, percent, toNanoseconds } from "../format/quantities";
import { enumWords } from "../format/words";
import { Notice } from "../parts/await";
import { Share } from "../parts/names";

const kTicks = 4;

export function memberName(member: IterationPatternMember | undefined): string {
  if (!member) return "?";
  return member.device ? `${member.host}:${member.device}` : member.host || member.address;
}

function groupsText(collective: Collective): string {
  const sizes = collective.groups.map((group) => group.member_indexes.length);
  const [first = 0] = sizes;
  const even = sizes.every((size) => size === first);
  return even ? `${count(sizes.length)} × ${count(first)} NICs` : `${count(sizes.length)} groups of NICs`;
}

function Lane({ collective, period }: { collective: Collective; period: number }) {
  const [offsetNs, durationNs] = [toNanoseconds(collective.offset), toNanoseconds(collective.duration)];
  const [offset, length] = [offsetNs / period, durationNs / period];
  const alternative = enumWords(collective.alternative);
  // A collective that extends beyond the iteration's end wraps around to its start.
  const over = Math.max(0, offset + length - 1);
  const span = `${duration(offsetNs)} to ${duration(offsetNs + durationNs)}`;
  const bar = (left: number, width: number) => (
    <span class="lane-bar" title={span} style={{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.4)}%` }} />
  );
  return (
    <>
      <div class="lane-title">
        <strong>{enumWords(collective.kind) || "unknown"}</strong>
        {alternative && <span class="muted"> or {alternative}</span>}
        <p class="muted">
          {groupsText(collective)}, {bytes(collective.payload_bytes)}, {duration(durationNs)},{" "}
          confidence {percent(collective.confidence)}
        </p>
      </div>
      <div class="lane">
        {bar(offset, Math.min(length, 1 - offset))}
        {over > 0 && bar(0, Math.min(over, 1))}
      </div>
    </>
  );
}

export function IterationPatternLanes({ pattern, reference }: { pattern: IterationPattern; reference: Reference }) {
  const period = toNanoseconds(pattern.period) || 1;
  const { straggler } = pattern;
  const ticks = Array.from({ length: kTicks + 1 }, (_, i) => i / kTicks);
  return (
    <>
      <p class="muted">
        Iteration period {duration(pattern.period)}, {count(pattern.iteration_count)} complete iterations observed,{" "}
        {count(pattern.members.length)} NICs; <Share value={pattern.strength} label="similarity" />
      </p>
      <div class="lanes">
        {pattern.collectives.map((collective, i) => <Lane key={i} collective={collective} period={period} />)}
        <div class="lane-title" />
        <div class="lane-ticks" aria-hidden="true">
          {ticks.map((tick) => <span key={tick} style={{ left: `${tick * 100}%` }}>{duration(tick * period)}</span>)}
        </div>
      </div>
      {straggler && (
        <Notice kind="caution" title={`Straggler: ${memberName(pattern.members[straggler.member_index])}`}>
          It starts {duration(straggler.delay)} after the median of the other NICs in {count(straggler.late_iteration_count)} of{" "}
          {count(straggler.total_iteration_count)} iterations; <time title={utcFull(straggler.start_time)}>first {relative(straggler.start_time, reference)}</time>;{" "}
          confidence {percent(straggler.confidence)}.
        </Notice>
      )}
    </>
  );
}

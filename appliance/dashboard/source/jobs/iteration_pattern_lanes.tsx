// SPDX-License-Identifier: BSD-3-Clause
// A timeline of the collectives in an iteration, inferred from the traffic.
import type { Collective, IterationPattern, IterationPatternMember } from "../api/job_messages";
import { relative, utcFull, type Reference } from "../format/moments";
import { bytes, count, duration, percent } from "../format/quantities";
import { words } from "../format/words";
import { Notice } from "../parts/await";
import { Share } from "../parts/names";

const kTicks = 4;

export function memberName(member: IterationPatternMember | undefined): string {
  if (!member) return "?";
  return member.device ? `${member.host}:${member.device}` : member.host || member.address;
}

function groupsText(collective: Collective): string {
  const sizes = collective.groups.map((group) => group.members.length);
  const [first = 0] = sizes;
  const even = sizes.every((size) => size === first);
  return even ? `${count(sizes.length)} × ${count(first)} NICs` : `${count(sizes.length)} groups of NICs`;
}

function Lane({ collective, period }: { collective: Collective; period: number }) {
  const offset = Number(collective.offset_ns) / period;
  const length = Number(collective.duration_ns) / period;
  // A collective that extends beyond the iteration's end wraps around to its start.
  const over = Math.max(0, offset + length - 1);
  const span = `${duration(collective.offset_ns)} to ${duration(Number(collective.offset_ns) + Number(collective.duration_ns))}`;
  const bar = (left: number, width: number) => (
    <span class="lane-bar" title={span} style={{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.4)}%` }} />
  );
  return (
    <>
      <div class="lane-title">
        <strong>{words(collective.kind)}</strong>
        {collective.alternative && <span class="muted"> or {words(collective.alternative)}</span>}
        <p class="muted">
          {groupsText(collective)}, {bytes(collective.bytes)}, {duration(collective.duration_ns)},{" "}
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
  const period = Number(pattern.period_ns) || 1;
  const waited = pattern.straggler;
  const ticks = Array.from({ length: kTicks + 1 }, (_, i) => i / kTicks);
  return (
    <>
      <p class="muted">
        Iteration period {duration(pattern.period_ns)}, {count(pattern.iterations)} complete iterations observed,{" "}
        {count(pattern.members.length)} NICs; <Share value={pattern.strength} label="similarity" />
      </p>
      <div class="lanes">
        {pattern.collectives.map((collective, i) => <Lane key={i} collective={collective} period={period} />)}
        <div class="lane-title" />
        <div class="lane-ticks" aria-hidden="true">
          {ticks.map((tick) => <span key={tick} style={{ left: `${tick * 100}%` }}>{duration(tick * period)}</span>)}
        </div>
      </div>
      {waited && (
        <Notice kind="caution" title={`Straggler: ${memberName(pattern.members[waited.member])}`}>
          It starts {duration(waited.lateness_ns)} after the median of the other NICs in {count(waited.iterations)} of{" "}
          {count(waited.of)} iterations; <time title={utcFull(waited.from_ns)}>first {relative(waited.from_ns, reference)}</time>;{" "}
          confidence {percent(waited.confidence)}.
        </Notice>
      )}
    </>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// The ID of a finding in the URL: KIND~PLACE~DIRECTION~START, for example
// "gray_loss~leaf1:3-spine0:1~leaf1:3~20260131T120000.250Z". The appliance, too, compares findings by
// kind, place and direction. Its revised start time may differ from that in an older link, so START
// only selects between several occurrences. KIND~PLACE alone selects the current one, for links that
// alert rules compose.
import type { Finding } from "../api/messages";
import { toNs } from "../format/moments";
import { href } from "../parts/route";

type Identity = Pick<Finding, "kind" | "place" | "direction">;

const kStart = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\.\d{3})?Z$/;
// An occurrence whose start differs by more than this from the one in the ID is another one: faults
// that come back within five minutes are one finding.
const kSameNs = 300_000_000_000n;

export function findingKey({ kind, place, direction }: Identity): string {
  return [kind, place, direction].join("~");
}

export function findingId(finding: Identity & Pick<Finding, "start_time">): string {
  const ns = toNs(finding.start_time);
  if (ns === undefined) return findingKey(finding);
  const start = new Date(Number(ns / 1_000_000n)).toISOString().replace(/[-:]/g, "").replace(".000Z", "Z");
  return `${findingKey(finding)}~${start}`;
}

export function hrefOfFinding(finding: Identity & Pick<Finding, "start_time">): string {
  return href("findings", {}, findingId(finding));
}

export interface IdParts {
  kind: string;
  place: string;
  direction?: string; // undefined: any
  startNs?: bigint; // undefined: the latest occurrence
}

export function parseFindingId(id: string): IdParts {
  const [kind = "", place = "", direction, start = ""] = id.split("~");
  const [, year, month, day, hour, minute, second, fraction = ""] = kStart.exec(start) ?? [];
  return {
    kind,
    place,
    direction,
    startNs: toNs(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`),
  };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}

// True if the time lies within the finding, with some tolerance.
function covers(finding: Finding, timeNs: bigint): boolean {
  const [start, end] = [toNs(finding.start_time), toNs(finding.end_time)];
  if (start === undefined) return true;
  return timeNs >= start - kSameNs && (end === undefined || timeNs <= end + kSameNs);
}

// All occurrences of the fault that the ID names: the same kind and place, and the same direction.
export function occurrences(id: string, findings: Finding[]): Finding[] {
  const { kind, place, direction } = parseFindingId(id);
  return findings.filter(
    (finding) =>
      finding.kind === kind && finding.place === place &&
      (direction === undefined || finding.direction === direction),
  );
}

// The occurrence that the ID names. Undefined if there is none.
export function findById(id: string, findings: Finding[]): Finding | undefined {
  const { startNs } = parseFindingId(id);
  const startOf = (finding: Finding) => toNs(finding.start_time) ?? 0n;
  const same = occurrences(id, findings);
  if (startNs === undefined) return same.sort((a, b) => compare(startOf(b), startOf(a)))[0];
  return same
    .filter((finding) => covers(finding, startNs))
    .sort((a, b) => compare(distance(startOf(a), startNs), distance(startOf(b), startNs)))[0];
}

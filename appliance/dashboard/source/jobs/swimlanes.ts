// SPDX-License-Identifier: BSD-3-Clause
// The swimlanes of an iteration: one lane for each set of NICs that takes part in the same groups of
// the same collectives, and one for the straggler.
import type { IterationPattern, IterationPatternMember } from "../api/messages";

export interface Swimlane {
  members: number[]; // indexes in IterationPattern.members
  collectives: number[]; // indexes in IterationPattern.collectives
  isStraggler: boolean;
}

export function swimlanes(pattern: IterationPattern): Swimlane[] {
  const groupsOf = pattern.members.map((): string[] => []);
  const collectivesOf = pattern.members.map((): number[] => []);
  pattern.collectives.forEach((collective, c) => collective.groups.forEach((group, g) => group.member_indexes.forEach((member) => {
    groupsOf[member]?.push(`${c}.${g}`);
    collectivesOf[member]?.push(c);
  })));
  const lanes = new Map<string, Swimlane>();
  pattern.members.forEach((_, member) => {
    const isStraggler = pattern.straggler?.member_index === member;
    const key = `${isStraggler} ${groupsOf[member]?.join(" ")}`;
    const lane = lanes.get(key) ?? { members: [], collectives: collectivesOf[member] ?? [], isStraggler };
    lane.members.push(member);
    lanes.set(key, lane);
  });
  return [...lanes.values()].sort((a, b) => Number(b.isStraggler) - Number(a.isStraggler));
}

export function memberName(member: IterationPatternMember | undefined): string {
  if (!member) return "?";
  return member.device ? `${member.host}:${member.device}` : member.host || member.address;
}

// "gpu-0:mlx5_0", or "8 × mlx5_0 (gpu-0 … gpu-7)".
export function laneTitle(pattern: IterationPattern, lane: Swimlane): string {
  const members = lane.members.map((index) => pattern.members[index]);
  const [first, last] = [members[0], members.at(-1)];
  if (members.length === 1) return memberName(first);
  const devices = new Set(members.map((member) => member?.device ?? ""));
  const device = devices.size === 1 && first?.device ? first.device : "NICs";
  const place = (member: IterationPatternMember | undefined) => member?.host || member?.address || "?";
  return `${members.length} × ${device} (${place(first)} … ${place(last)})`;
}

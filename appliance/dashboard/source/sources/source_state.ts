// SPDX-License-Identifier: BSD-3-Clause
// Whether a source works, so that lists show the sources with problems first and can be filtered.
import type { HostAgent, Source } from "../api/messages";

export type SourceState = "stopped" | "losing telemetry" | "problems" | "nothing received" | "receiving";

// The worst first, with the colour of its tag.
export const kSourceStates: [SourceState, tag: string][] = [
  ["stopped", "fault"],
  ["losing telemetry", "at_risk"],
  ["problems", "at_risk"],
  ["nothing received", "waiting"],
  ["receiving", "met"],
];

export function sourceState(source: Source): SourceState {
  if (source.error !== "") return "stopped";
  if (source.missed_frames !== "0" || source.dropped_records !== "0") return "losing telemetry";
  if (source.problems.length > 0 || source.agents.some((agent) => agent.problems.length > 0)) return "problems";
  return source.last_arrival_time === undefined ? "nothing received" : "receiving";
}

const rankOf = (source: Source) => kSourceStates.findIndex(([state]) => state === sourceState(source));

export function worstSourcesFirst(sources: Source[]): Source[] {
  return [...sources].sort((a, b) => rankOf(a) - rankOf(b));
}

// `text`: words that must all occur in the name or kind of the source, or in the name of one of its agents.
export function matchesSource(source: Source, { state = "", text = "" }: Record<string, string>): boolean {
  if (state && sourceState(source) !== state) return false;
  const all = [source.name, source.kind, ...source.agents.map((agent) => agent.host)].join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

export type AgentState = "stopped" | "not connected" | "problems" | "connected";

export function agentState(agent: HostAgent): AgentState {
  if (agent.stopped) return "stopped";
  if (!agent.connected) return "not connected";
  return agent.problems.length > 0 ? "problems" : "connected";
}

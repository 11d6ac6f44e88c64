// SPDX-License-Identifier: BSD-3-Clause
// The host agents of a source, with their clocks and losses.
import type { HostAgent } from "../api/messages";
import { sortKey, type Reference } from "../format/moments";
import { bytes, count, duration, toNanoseconds } from "../format/quantities";
import { Moment, Place, Tag } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { agentState, type AgentState } from "./source_state";

const kTags: Record<AgentState, string> = { stopped: "over", "not connected": "fault", problems: "at_risk", connected: "met" };

// The offset with its uncertainty: "-3 ms ± 1 ms".
export function clockText({ clock_offset: offset, clock_uncertainty: uncertainty }: HostAgent): string {
  if (offset === undefined) return "unknown";
  const ns = toNanoseconds(offset);
  const text = `${ns < 0 ? "−" : ""}${duration(Math.abs(ns))}`;
  return uncertainty === undefined ? text : `${text} ± ${duration(uncertainty)}`;
}

function columnsOf(reference: Reference): Column<HostAgent>[] {
  return [
    { title: "host", cell: (agent) => (agent.in_topology ? <Place name={agent.host} /> : <>{agent.host} <span class="muted">not in the topology</span></>), sort: (agent) => agent.host },
    { title: "state", cell: (agent) => <Tag kind={kTags[agentState(agent)]} text={agentState(agent)} />, sort: agentState },
    { title: "problems", cell: (agent) => agent.problems.join("; ") || "–" },
    { title: "last message", cell: (agent) => <Moment time={agent.last_message_time} reference={reference} />, sort: (agent) => sortKey(agent.last_message_time), value: (agent) => agent.last_message_time },
    {
      title: "clock offset", numeric: true, unit: "ns", hint: "clock of the appliance minus clock of the host", cell: clockText,
      sort: (agent) => (agent.clock_offset === undefined ? 0 : Math.abs(toNanoseconds(agent.clock_offset))),
      value: (agent) => (agent.clock_offset === undefined ? undefined : toNanoseconds(agent.clock_offset)),
    },
    { title: "received", numeric: true, unit: "B", cell: (agent) => bytes(agent.bytes), sort: (agent) => Number(agent.bytes) },
    { title: "lost batches", numeric: true, cell: (agent) => count(agent.lost_batches), sort: (agent) => Number(agent.lost_batches) },
    { title: "buffered", numeric: true, unit: "B", cell: (agent) => bytes(agent.buffered_bytes), sort: (agent) => Number(agent.buffered_bytes) },
    { title: "version", cell: (agent) => agent.version, sort: (agent) => agent.version },
  ];
}

const kShown = 12;

// Those with problems first.
export function AgentTable({ name, agents, reference }: { name: string; agents: HostAgent[]; reference: Reference }) {
  const rank = (agent: HostAgent) => ["not connected", "problems", "stopped", "connected"].indexOf(agentState(agent));
  const rows = [...agents].sort((a, b) => rank(a) - rank(b));
  return <Table caption={`Agents of ${name}`} columns={columnsOf(reference)} rows={rows} keyOf={(agent) => agent.host} most={kShown} file={`Agents of ${name}`} />;
}

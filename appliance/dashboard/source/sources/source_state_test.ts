// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { HostAgent, Source } from "../api/messages";
import { agentState, matchesSource, sourceState, worstSourcesFirst } from "./source_state";

const makeSource = (fields: Partial<Source> = {}): Source => ({
  name: "mirror", kind: "KIND_DPDK", listen_addresses: [], bytes: "1", missed_frames: "0", records: "1", dropped_records: "0",
  open_flow_count: "0", last_arrival_time: "2026-01-31T12:00:00Z", error: "", dpdk_ports: [], problems: [], agents: [], ...fields,
});
const makeAgent = (fields: Partial<HostAgent>) => ({ host: "gpu-1", connected: true, stopped: false, problems: [], ...fields }) as unknown as HostAgent;

it("shows the worst state of a source", () => {
  expect(sourceState(makeSource())).toBe("receiving");
  expect(sourceState(makeSource({ last_arrival_time: undefined }))).toBe("nothing received");
  expect(sourceState(makeSource({ agents: [makeAgent({ problems: ["clock"] })] }))).toBe("problems");
  expect(sourceState(makeSource({ missed_frames: "3", problems: ["x"] }))).toBe("losing telemetry");
  expect(sourceState(makeSource({ error: "closed", missed_frames: "3" }))).toBe("stopped");
});

it("lists the worst sources first, and keeps the order of the others", () => {
  const sources = [makeSource({ name: "a" }), makeSource({ name: "b" }), makeSource({ name: "c", error: "closed" })];
  expect(worstSourcesFirst(sources).map(({ name }) => name)).toEqual(["c", "a", "b"]);
});

it("filters by state, name, kind and agent", () => {
  const source = makeSource({ agents: [makeAgent({})] });
  expect([matchesSource(source, {}), matchesSource(source, { state: "stopped" })]).toEqual([true, false]);
  expect(["MIRROR", "dpdk gpu-1", "gpu-9"].map((text) => matchesSource(source, { text }))).toEqual([true, true, false]);
});

it("distinguishes an agent that was stopped from one that is silent", () => {
  expect(agentState(makeAgent({}))).toBe("connected");
  expect(agentState(makeAgent({ connected: false }))).toBe("not connected");
  expect(agentState(makeAgent({ connected: false, stopped: true }))).toBe("stopped");
  expect(agentState(makeAgent({ problems: ["clock"] }))).toBe("problems");
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { DiagnosisCoverage } from "../api/messages";
import { makeFinding } from "../findings/fixture";
import { fabricState } from "./fabric_state";

const kCritical = makeFinding({ affected_job_ids: ["a"] });
const kWarning = makeFinding({ kind: "bit_errors" });
const kCoverage = {
  window_count: "8", flow_count: "5", undetectable_kinds: [], obstacle: "OBSTACLE_UNSPECIFIED",
  total_switch_count: 2, reporting_switch_count: 2, dropped_records_note: "",
} as unknown as DiagnosisCoverage;
const state = (findings = [kCritical], more: Partial<Parameters<typeof fabricState>[0]> = {}) =>
  fabricState({ findings, coverage: kCoverage, jobCount: 3, isRecording: false, ...more });

it("counts faults by severity, and the jobs that they affect", () => {
  expect(state()).toMatchObject({ tone: "critical", sentence: "1 critical fault; 1 of 3 jobs affected." });
  const both = makeFinding({ kind: "flap", affected_job_ids: ["a", "b"] });
  expect(state([kCritical, both, kWarning]).sentence).toBe("2 critical faults and 1 warning; 2 of 3 jobs affected.");
});

it("does not claim that jobs are unaffected", () => {
  expect(state([kWarning])).toMatchObject({
    tone: "warning", sentence: "1 warning; no affected job is known.",
  });
});

it("does not count resolved faults, except in a recording", () => {
  const resolved = { ...kCritical, end_time: "2026-01-31T12:05:00Z" };
  expect(state([resolved])).toMatchObject({ tone: "good", detail: "1 resolved fault not counted." });
  expect(state([resolved], { isRecording: true }).tone).toBe("critical");
});

it("counts muted faults separately", () => {
  const mute = {
    kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "", mute_time: "2026-01-31T12:05:00Z",
    expire_time: "2026-02-01T12:05:00Z", user: "bob", comment: "", expired: false,
  };
  const muted = { ...kCritical, mute };
  expect(state([kWarning, muted])).toMatchObject({
    tone: "warning", sentence: "1 warning; no affected job is known.", detail: "1 muted.",
  });
  expect(state([muted, muted])).toMatchObject({
    tone: "unknown", sentence: "No faults other than muted ones.", detail: "2 muted.",
  });
});

it("is unknown without sufficient telemetry", () => {
  expect(state([], { coverage: undefined }).tone).toBe("unknown");
  expect(state([])).toMatchObject({ tone: "good", sentence: "No faults found. All known fault types are detectable with this telemetry." });
});

it("is unknown while the telemetry is old", () => {
  expect(state([], { freshness: { ageNs: 42e9, isOld: true } })).toEqual({
    tone: "unknown",
    sentence: "No telemetry for 42 s: the current state of the fabric is unknown.",
    detail: "Last known state: No faults found. All known fault types are detectable with this telemetry.",
  });
});

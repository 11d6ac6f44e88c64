// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { makeFinding } from "./fixture";
import { severityOf, stateOf, worstFirst } from "./severity";
import { shortTitle } from "./titles";

it("is critical if a job is affected or the kind is an outage", () => {
  expect(severityOf(makeFinding({ affected_job_ids: ["a"] }))).toBe("critical");
  expect(severityOf(makeFinding({ kind: "switch_crash" }))).toBe("critical");
  expect(severityOf(makeFinding())).toBe("warning");
});

it("is critical only with the confidence of the alert", () => {
  expect(severityOf(makeFinding({ affected_job_ids: ["a"], confidence: 0.8 }))).toBe("critical");
  expect(severityOf(makeFinding({ affected_job_ids: ["a"], confidence: 0.79 }))).toBe("warning");
});

it("is info for suspected faults", () => {
  expect(severityOf(makeFinding({ kind: "switch_crash", affected_job_ids: ["a"], confidence: 0.49 }))).toBe("info");
  expect(stateOf(makeFinding({ confidence: 0.49 }))).toBe("suspected");
});

it("does not depend on the end", () => {
  const resolved = makeFinding({ affected_job_ids: ["a"], end_time: "2026-01-31T12:01:00Z" });
  expect([severityOf(resolved), stateOf(resolved)]).toEqual(["critical", "resolved"]);
});

it("orders by state, severity, affected jobs and start", () => {
  const ordered = [
    makeFinding({ affected_job_ids: ["a", "b"] }),
    makeFinding({ affected_job_ids: ["a"] }),
    makeFinding({ start_time: "2026-01-31T12:30:00Z" }),
    makeFinding(),
    makeFinding({ affected_job_ids: ["a"], end_time: "2026-01-31T12:40:00Z" }),
    makeFinding({ confidence: 0.3 }),
  ];
  expect([...ordered].reverse().sort(worstFirst)).toEqual(ordered);
});

it("has a short title, also for an unknown kind", () => {
  expect(shortTitle(makeFinding())).toBe("Silent packet loss, leaf1:3-spine0:1");
  expect(shortTitle(makeFinding({ kind: "new_qp_fault" }))).toBe("New QP fault, leaf1:3-spine0:1");
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { makeFinding } from "./fixture";
import { severityOf, stateOf, worstFirst } from "./severity";
import { shortTitle } from "./titles";

it("is that of the appliance", () => {
  const severities = ["SEVERITY_CRITICAL", "SEVERITY_WARNING", "SEVERITY_INFO"] as const;
  expect(severities.map((severity) => severityOf(makeFinding({ severity })))).toEqual(["critical", "warning", "info"]);
});

it("is a warning if the appliance does not state it", () => {
  expect(severityOf(makeFinding({ severity: "SEVERITY_UNSPECIFIED" }))).toBe("warning");
});

it("has the state suspected below a confidence of one half", () => {
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

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { DiagnosisCoverage } from "../api/messages";
import { nothingFound } from "./coverage";

const kWhole: DiagnosisCoverage = {
  windows: "900", window_ns: "1", switches: 4, switches_of: 4, nics: 8, nics_of: 8, gpus: 8, gpus_of: 8,
  flows: "64", not_seen: [], silences: [], obstacle: "", addresses: 8, addresses_known: 8, reading_period_ns: "1",
};

it("never reports health with little telemetry", () => {
  expect(nothingFound({ ...kWhole, obstacle: "few_windows" })).toMatchObject({ sure: false });
  expect(nothingFound({ ...kWhole, obstacle: "of_a_newer_box" }).title).toContain("of a newer box");
  expect(nothingFound({ ...kWhole, windows: "0", flows: "0" })).toMatchObject({ sure: false });
  expect(nothingFound({ ...kWhole, given_up: "analysis dropped 5 of 10 records" })).toMatchObject({
    sure: false, title: "No faults found, but analysis dropped 5 of 10 records.",
  });
  expect(nothingFound(undefined)).toMatchObject({ sure: false });
});

it("counts the fault types that are not detectable", () => {
  expect(nothingFound({ ...kWhole, not_seen: ["corruption"] }).title).toContain("one fault type is not detectable");
  expect(nothingFound({ ...kWhole, not_seen: ["corruption", "flap"] }).title).toContain("2 fault types are not detectable");
});

it("names nodes without counters", () => {
  expect(nothingFound({ ...kWhole, gpus: 0, nics: 7 }).reasons).toEqual([
    "Only 7 of 8 NICs reported counters.",
    "None of 8 GPUs reported counters.",
  ]);
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { DiagnosisCoverage } from "../api/messages";
import { nothingFound } from "./coverage";

const kWhole: DiagnosisCoverage = {
  windows: "900", window_ns: "1", switches: 4, switches_of: 4, nics: 8, nics_of: 8, gpus: 8, gpus_of: 8,
  flows: "64", not_seen: [], silences: [], obstacle: "", addresses: 8, addresses_known: 8, reading_period_ns: "1",
};

it("never says that all is well where little was seen", () => {
  expect(nothingFound({ ...kWhole, obstacle: "few_windows" })).toMatchObject({ sure: false });
  expect(nothingFound({ ...kWhole, obstacle: "of_a_newer_box" }).title).toContain("of a newer box");
  expect(nothingFound({ ...kWhole, windows: "0", flows: "0" })).toMatchObject({ sure: false });
  expect(nothingFound({ ...kWhole, given_up: "analysis gave up 5 of 10 records" })).toMatchObject({
    sure: false, title: "No fault found, but analysis gave up 5 of 10 records.",
  });
  expect(nothingFound(undefined)).toMatchObject({ sure: false });
});

it("counts kinds of faults that nothing would have shown", () => {
  expect(nothingFound({ ...kWhole, not_seen: ["corruption"] }).title).toContain("one kind of fault could not");
  expect(nothingFound({ ...kWhole, not_seen: ["corruption", "flap"] }).title).toContain("2 kinds of faults");
});

it("names who told nothing", () => {
  expect(nothingFound({ ...kWhole, gpus: 0, nics: 7 }).reasons).toEqual([
    "Only 7 of 8 NICs told counters.",
    "None of 8 GPUs told counters.",
  ]);
});

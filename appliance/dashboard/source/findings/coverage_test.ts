// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { DiagnosisCoverage } from "../api/messages";
import { nothingFound } from "./coverage";

const kWhole: DiagnosisCoverage = {
  windows: "900", window_duration: "0.100s", switches: 4, total_switches: 4, nics: 8, total_nics: 8,
  gpus: 8, total_gpus: 8, flows: "64", undetectable_kinds: [], silences: [], obstacle: "OBSTACLE_UNSPECIFIED",
  addresses: 8, addresses_known: 8, polling_interval: "1s", records_dropped: "",
};

it("never reports health with little telemetry", () => {
  expect(nothingFound({ ...kWhole, obstacle: "OBSTACLE_FEW_WINDOWS" })).toMatchObject({ conclusive: false });
  expect(nothingFound({ ...kWhole, obstacle: "OBSTACLE_OF_A_NEWER_APPLIANCE" as never }).title).toContain("of a newer appliance");
  expect(nothingFound({ ...kWhole, windows: "0", flows: "0" })).toMatchObject({ conclusive: false });
  expect(nothingFound({ ...kWhole, records_dropped: "analysis dropped 5 of 10 records" })).toMatchObject({
    conclusive: false, title: "No faults found, but analysis dropped 5 of 10 records.",
  });
  expect(nothingFound(undefined)).toMatchObject({ conclusive: false });
});

it("counts the fault types that are not detectable", () => {
  expect(nothingFound({ ...kWhole, undetectable_kinds: ["corruption"] }).title).toContain("one fault type is not detectable");
  expect(nothingFound({ ...kWhole, undetectable_kinds: ["corruption", "flap"] }).title).toContain("2 fault types are not detectable");
});

it("names nodes without counters", () => {
  expect(nothingFound({ ...kWhole, gpus: 0, nics: 7 }).reasons).toEqual([
    "Only 7 of 8 NICs reported counters.",
    "None of 8 GPUs reported counters.",
  ]);
});

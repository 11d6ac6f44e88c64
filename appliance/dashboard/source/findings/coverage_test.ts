// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { DiagnosisCoverage } from "../api/messages";
import { nothingFound } from "./coverage";

const kWhole: DiagnosisCoverage = {
  window_count: "900", window_duration: "0.100s", reporting_switch_count: 4, total_switch_count: 4, reporting_nic_count: 8, total_nic_count: 8,
  reporting_gpu_count: 8, total_gpu_count: 8, flow_count: "64", undetectable_kinds: [], blind_spots: [], unusable_counters: [], silences: [], obstacle: "OBSTACLE_UNSPECIFIED",
  address_count: 8, known_address_count: 8, polling_interval: "1s", dropped_records_note: "", earlier_window_count: "0",
  topology_has_no_links: false, confirmed_link_count: 12, contradicted_link_count: 0, readings: "READINGS_SIMULTANEOUS",
};

it("never reports health with little telemetry", () => {
  expect(nothingFound({ ...kWhole, obstacle: "OBSTACLE_FEW_WINDOWS" })).toMatchObject({ conclusive: false });
  expect(nothingFound({ ...kWhole, obstacle: "OBSTACLE_OF_A_NEWER_APPLIANCE" as never }).title).toContain("of a newer appliance");
  expect(nothingFound({ ...kWhole, window_count: "0", flow_count: "0" })).toMatchObject({ conclusive: false });
  expect(nothingFound({ ...kWhole, dropped_records_note: "analysis dropped 5 of 10 records" })).toMatchObject({
    conclusive: false, title: "No faults found, but analysis dropped 5 of 10 records.",
  });
  expect(nothingFound(undefined)).toMatchObject({ conclusive: false });
});

it("counts the fault types that are not detectable", () => {
  expect(nothingFound({ ...kWhole, undetectable_kinds: ["corruption"] }).title).toContain("one fault type is not detectable");
  expect(nothingFound({ ...kWhole, undetectable_kinds: ["corruption", "flap"] }).title).toContain("2 fault types are not detectable");
});

it("names nodes without counters", () => {
  expect(nothingFound({ ...kWhole, reporting_gpu_count: 0, reporting_nic_count: 7 }).reasons).toEqual([
    "Only 7 of 8 NICs reported counters.",
    "None of 8 GPUs reported counters.",
  ]);
});

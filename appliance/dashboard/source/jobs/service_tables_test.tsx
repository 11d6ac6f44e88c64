// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { expect, it } from "vitest";
import type { ListServiceLevelsResponse, ServiceIndicator, ServiceLevel } from "../api/messages";
import { JobLevels, jobLevelsPath } from "./service_tables";

interface Counts { met?: number; at_risk?: number; missed?: number; no_data?: number }

function indicator(name: string, { met = 0, at_risk = 0, missed = 0, no_data = 0 }: Counts): ServiceIndicator {
  return {
    name, layer: "SERVICE_LAYER_GPU", unit: "ns", violation: "VIOLATION_ABOVE", meaning: "",
    met_count: `${met}`, at_risk_count: `${at_risk}`, missed_count: `${missed}`, no_data_count: `${no_data}`,
  };
}

function level(entity: string, state: ServiceLevel["state"]): ServiceLevel {
  return {
    indicator: "naks", layer: "SERVICE_LAYER_GPU", entity, state, bound: 1, bound_learnt: false, last_value: 2,
    short_window_ratio: 0, long_window_ratio: 0, window_count: 1,
  };
}

function textOf(indicators: ServiceIndicator[], service_levels: ServiceLevel[] = []): string {
  const answer: ListServiceLevelsResponse = {
    indicators, service_levels, objective: 0.95, short_window_count: 5, long_window_count: 60,
    total_size: service_levels.length, next_page_token: "",
  };
  const parent = document.createElement("div");
  render(<JobLevels answer={answer} />, parent);
  return parent.textContent ?? "";
}

it("counts only the levels with data as within bounds", () => {
  expect(textOf([indicator("naks", { met: 4 }), indicator("pauses", { missed: 1 })]))
    .toContain("Within bounds: 4 service levels of the job, its GPUs and its NICs (naks).");
  expect(textOf([indicator("naks", { no_data: 4 })])).not.toContain("Within bounds");
});

it("reports levels without data as unknown", () => {
  expect(textOf([indicator("naks", { no_data: 2, met: 1 })])).toContain("Unknown, no data: 2 service levels (naks).");
  expect(textOf([])).toContain("Unknown");
});

it("shows the violated levels and how many are not loaded", () => {
  const text = textOf(
    [indicator("naks", { missed: 1500, met: 1 })],
    [level("gpu-1:gpu:0", "STATE_MISSED"), level("gpu-2:gpu:0", "STATE_MET")],
  );
  expect(text).toContain("gpu-1");
  expect(text).not.toContain("gpu-2");
  expect(text).toContain("Only 1 of 1\u202f500 are loaded.");
});

it("requests the levels of one job", () => {
  expect(jobLevelsPath("a (b)")).toBe("/api/v1/service-levels?job_id=a%20(b)&page_size=1000");
});

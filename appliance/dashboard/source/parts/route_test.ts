// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { href, hrefOfPlace, hrefOfView, parseRoute } from "./route";

it("round-trips", () => {
  expect(parseRoute(href("jobs", {}, "a/b c"))).toEqual({ view: "jobs", name: "a/b c", query: {} });
  expect(parseRoute(hrefOfPlace("leaf0:Eth1/2-spine1:Eth3"))).toEqual({
    view: "fabric", name: "", query: { at: "leaf0:Eth1/2-spine1:Eth3" },
  });
});

it("keeps the time range from view to view", () => {
  expect(hrefOfView("findings", { range: "6h", at: "leaf0" })).toBe("#/findings?range=6h");
});

it("omits empty values", () => {
  expect(href("fabric", { from: "", by: "marks" })).toBe("#/fabric?by=marks");
});

it("starts with the overview, and accepts truncated links", () => {
  expect(parseRoute("").view).toBe("overview");
  expect(parseRoute("#/nonsense").view).toBe("overview");
  expect(parseRoute("#/jobs/%E0%A4").name).toBe("%E0%A4");
});

// SPDX-License-Identifier: BSD-3-Clause
import { afterEach, expect, it } from "vitest";
import { choose, href, hrefOfPlace, hrefOfView, parseRoute, tableInUrl } from "./route";

afterEach(() => {
  location.hash = "";
});

it("keeps the selected minute in all links, and removes it on request", () => {
  location.hash = "#/jobs/a?time=2026-01-31T12:03:00Z&tab=ranks";
  expect(hrefOfPlace("leaf0")).toBe("#/fabric?at=leaf0&time=2026-01-31T12%3A03%3A00Z");
  expect(hrefOfView("findings", { range: "6h" })).toBe("#/findings?range=6h&time=2026-01-31T12%3A03%3A00Z");
  expect(href("jobs", { time: "2026-01-31T12:04:00Z" })).toBe("#/jobs?time=2026-01-31T12%3A04%3A00Z");
  choose(parseRoute(location.hash), { time: "" });
  expect(location.hash).toBe("#/jobs/a?tab=ranks");
});

it("round-trips", () => {
  expect(parseRoute(href("jobs", {}, "a/b c"))).toEqual({ view: "jobs", name: "a/b c", query: {} });
  expect(parseRoute(hrefOfPlace("leaf0:Eth1/2-spine1:Eth3"))).toEqual({
    view: "fabric", name: "", query: { at: "leaf0:Eth1/2-spine1:Eth3" },
  });
});

it("keeps the time range from view to view", () => {
  expect(hrefOfView("findings", { range: "6h", at: "leaf0" })).toBe("#/findings?range=6h");
});

it("keeps the order and the filter of a table in the URL", () => {
  location.hash = "#/jobs?text=a";
  const { filter, order, onOrder } = tableInUrl(parseRoute(location.hash));
  expect([filter, order]).toEqual(["a", ""]);
  onOrder?.("-ranks");
  expect(location.hash).toBe("#/jobs?text=a&sort=-ranks");
  location.hash = "";
});

it("omits empty values", () => {
  expect(href("fabric", { from: "", by: "marks" })).toBe("#/fabric?by=marks");
});

it("starts with the overview, and accepts truncated links", () => {
  expect(parseRoute("").view).toBe("overview");
  expect(parseRoute("#/nonsense").view).toBe("overview");
  expect(parseRoute("#/jobs/%E0%A4").name).toBe("%E0%A4");
});

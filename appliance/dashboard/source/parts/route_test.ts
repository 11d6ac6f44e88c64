// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { href, hrefOfPlace, parseRoute } from "./route";

it("reads back what it writes", () => {
  expect(parseRoute(href("jobs", {}, "a/b c"))).toEqual({ view: "jobs", name: "a/b c", query: {} });
  expect(parseRoute(hrefOfPlace("leaf0:Eth1/2-spine1:Eth3"))).toEqual({
    view: "fabric", name: "", query: { at: "leaf0:Eth1/2-spine1:Eth3" },
  });
});

it("leaves out what is empty", () => {
  expect(href("fabric", { from: "", by: "marks" })).toBe("#/fabric?by=marks");
});

it("opens with the fabric, and survives addresses that were cut off", () => {
  expect(parseRoute("").view).toBe("fabric");
  expect(parseRoute("#/nonsense").view).toBe("fabric");
  expect(parseRoute("#/jobs/%E0%A4").name).toBe("%E0%A4");
});

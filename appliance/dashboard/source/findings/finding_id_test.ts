// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { parseRoute } from "../parts/route";
import { findById, findingId, hrefOfFinding, parseFindingId } from "./finding_id";
import { makeFinding } from "./fixture";

const kFirst = makeFinding({ start_time: "2026-01-31T12:00:00Z", end_time: "2026-01-31T12:10:00Z" });
const kSecond = makeFinding({ start_time: "2026-01-31T13:00:00.250Z" });

it("contains kind, place, direction and start", () => {
  expect(findingId(kSecond)).toBe("gray_loss~leaf1:3-spine0:1~leaf1:3~20260131T130000.250Z");
});

it("survives the URL", () => {
  expect(parseRoute(hrefOfFinding(kFirst))).toEqual({ view: "findings", name: findingId(kFirst), query: {} });
});

it("is parsed, and may be incomplete", () => {
  expect(parseFindingId(findingId(kFirst))).toEqual({
    kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "leaf1:3", startNs: 1769860800000000000n,
  });
  expect(parseFindingId("flap")).toMatchObject({ kind: "flap", place: "", startNs: undefined });
});

describe("the finding of an ID", () => {
  it("is the occurrence that it names", () => {
    expect(findById(findingId(kFirst), [kSecond, kFirst])).toBe(kFirst);
    expect(findById(findingId(kSecond), [kSecond, kFirst])).toBe(kSecond);
  });
  it("is found although its start was revised", () => {
    const revised = { ...kSecond, start_time: "2026-01-31T12:58:00Z" };
    expect(findById(findingId(kSecond), [revised, kFirst])).toBe(revised);
  });
  it("is the latest if the ID has no start or no direction", () => {
    expect(findById("gray_loss~leaf1:3-spine0:1", [kFirst, kSecond])).toBe(kSecond);
    expect(findById("gray_loss~leaf1:3-spine0:1~leaf1:3", [kFirst, kSecond])).toBe(kSecond);
  });
  it("does not exist for another kind, direction or time", () => {
    expect(findById("flap~leaf1:3-spine0:1", [kFirst])).toBeUndefined();
    expect(findById("gray_loss~leaf1:3-spine0:1~spine0:1", [kFirst])).toBeUndefined();
    expect(findById(findingId({ ...kFirst, start_time: "2026-01-31T18:00:00Z" }), [kFirst])).toBeUndefined();
    expect(findById("no-such-finding", [kFirst])).toBeUndefined();
  });
});

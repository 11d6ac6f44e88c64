// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { filterOf, isFiltered, matches } from "./filter";
import { makeFinding } from "./fixture";

const kFinding = makeFinding({ affected_job_ids: ["pretrain-7"] });
const matching = (query: Record<string, string>) => matches(kFinding, filterOf(query));

it("matches everything without a filter", () => {
  expect(matching({})).toBe(true);
  expect([isFiltered(filterOf({ range: "6h" })), isFiltered(filterOf({ kind: "flap" }))]).toEqual([false, true]);
});

it("filters by severity, state and kind", () => {
  expect([matching({ severity: "critical" }), matching({ severity: "info" })]).toEqual([true, false]);
  expect([matching({ state: "ongoing" }), matching({ state: "resolved" })]).toEqual([true, false]);
  expect([matching({ kind: "gray_loss" }), matching({ kind: "flap" })]).toEqual([true, false]);
});

it("finds jobs by their names", () => {
  const names = new Map([["pretrain-7", "llama"]]);
  expect([matches(kFinding, filterOf({ text: "Llama" }), names), matches(kFinding, filterOf({ text: "Llama" }))]).toEqual([true, false]);
});

it("filters by review", () => {
  const mark = { kind: "", place: "", direction: "", user: "ada", comment: "" };
  const acknowledged = makeFinding({ acknowledgement: { ...mark, ongoing: true } });
  const muted = makeFinding({ mute: { ...mark, expired: false } });
  const matchingReview = (review: string) => [kFinding, acknowledged, muted].map((finding) => matches(finding, filterOf({ review })));
  expect(matchingReview("open")).toEqual([true, false, false]);
  expect(matchingReview("acknowledged")).toEqual([false, true, false]);
  expect(matchingReview("muted")).toEqual([false, false, true]);
  expect(matchingReview("")).toEqual([true, true, true]);
});

it("requires all words, in title, place, sentence and jobs", () => {
  expect([matching({ text: "LEAF1 silent pretrain" }), matching({ text: "leaf1 leaf9" })]).toEqual([true, false]);
});

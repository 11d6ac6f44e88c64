// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { ratesBetween } from "./histories";

const kBefore = { timeMs: 1000, received: 100n, octets: 1000n, records: 10n, lost: 0n };

it("works rates out from two polls", () => {
  const after = { timeMs: 3000, received: 300n, octets: 251_000n, records: 30n, lost: 4n };
  expect(ratesBetween(kBefore, after)).toEqual({ timeS: 3, frames: 100, bits: 1_000_000, records: 10, lost: 2 });
});

it("has none across a restart of the box, or without time between", () => {
  expect(ratesBetween(kBefore, { ...kBefore, timeMs: 2000, received: 7n })).toBeUndefined();
  expect(ratesBetween(kBefore, kBefore)).toBeUndefined();
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { linesOf, shareOf } from "./ledger";

it("counts every frame in one line", () => {
  const lines = linesOf({
    received: "18446744073709551615", decoded: "18446744073709551000", filtered: "0",
    dropped: [{ reason: "not_roce", count: "600", meaning: "Other traffic." }],
  });
  expect(lines.map(({ name, count }) => [name, count])).toEqual([
    ["decoded", 18446744073709551000n], ["not_roce", 600n], ["in flight", 15n],
  ]);
});

it("handles shares of zero", () => {
  expect(shareOf(0n, 0n)).toBe(0);
  expect(shareOf(1n, 4n)).toBe(0.25);
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { IterationPattern } from "../api/messages";
import { laneTitle, swimlanes } from "./swimlanes";

const member = (host: string, device: string) => ({ address: "", host, device });
const pattern = (straggler?: number) => ({
  members: [member("a", "mlx5_0"), member("a", "mlx5_1"), member("b", "mlx5_0"), member("b", "mlx5_1")],
  collectives: [
    { groups: [{ member_indexes: [0, 2] }, { member_indexes: [1, 3] }] },
    { groups: [{ member_indexes: [0, 2] }] },
  ],
  straggler: straggler === undefined ? undefined : { member_index: straggler },
}) as unknown as IterationPattern;

it("has one lane for each set of NICs in the same groups", () => {
  const lanes = swimlanes(pattern());
  expect(lanes.map(({ members, collectives }) => [members, collectives])).toEqual([[[0, 2], [0, 1]], [[1, 3], [0]]]);
  expect(lanes.map((lane) => laneTitle(pattern(), lane))).toEqual(["2 × mlx5_0 (a … b)", "2 × mlx5_1 (a … b)"]);
});

it("shows the straggler in its own lane, first", () => {
  const lanes = swimlanes(pattern(3));
  expect(lanes[0]).toEqual({ members: [3], collectives: [0], isStraggler: true });
  expect(laneTitle(pattern(3), lanes[0] as never)).toBe("b:mlx5_1");
});

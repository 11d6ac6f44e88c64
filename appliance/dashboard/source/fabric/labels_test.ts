// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { fit, toMap, toScreen, zoomAt } from "./camera";
import { leafSpine } from "./fixture";
import { placeLabels, type Label } from "./labels";
import { layOut } from "./layout";
import { buildFabric } from "./model";

const measure = (label: Label) => label.text.length * 6;

it("drops the later of two overlapping labels", () => {
  const placed = placeLabels([{ text: "first", x: 50, y: 50, colour: "" }, { text: "second", x: 55, y: 52, colour: "" }], measure, 200, 200);
  expect(placed.map(({ text }) => text)).toEqual(["first"]);
});

it("moves an important label to free space", () => {
  const placed = placeLabels(
    [{ text: "first", x: 50, y: 50, colour: "" }, { text: "fault", x: 52, y: 50, colour: "", nudge: true }], measure, 200, 200,
  );
  expect(placed.map(({ y }) => y)).toEqual([50, 66]);
});

it("zooms around the pointer", () => {
  const layout = layOut(buildFabric(leafSpine({ hosts: 4, hostsPerLeaf: 2, spines: 2 })), { aspect: 2, mostSingleHosts: 8 });
  const camera = fit(layout, 800, 400);
  const before = toMap(camera, 300, 200);
  const after = toScreen(zoomAt(camera, 300, 200, 2, 0.1), before.x, before.y);
  expect(after.x).toBeCloseTo(300);
  expect(after.y).toBeCloseTo(200);
});

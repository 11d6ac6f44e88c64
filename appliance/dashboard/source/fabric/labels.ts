// SPDX-License-Identifier: BSD-3-Clause
// Which labels have room: the first ones win, so that callers put what matters most first.

export interface Label {
  text: string;
  x: number; // centre, on the screen
  y: number;
  colour: string;
  bold?: boolean;
  plate?: boolean; // on a plate, to be read over lines
  nudge?: boolean; // may move up or down to find room
}

export interface PlacedLabel extends Label {
  width: number;
}

const kHeight = 14;

export function placeLabels(
  labels: Label[], measure: (label: Label) => number, width: number, height: number,
): PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  const free = (x: number, y: number, w: number) =>
    placed.every(
      (other) =>
        Math.abs(other.x - x) >= (other.width + w) / 2 + 4 || Math.abs(other.y - y) >= kHeight + 1,
    );
  for (const label of labels) {
    if (label.y < -kHeight || label.y > height + kHeight) continue;
    if (label.x < -40 || label.x > width + 40) continue;
    const w = measure(label) + (label.plate ? 8 : 0);
    // A label that matters stays readable at the edge.
    const x = label.nudge ? Math.min(width - w / 2 - 3, Math.max(w / 2 + 3, label.x)) : label.x;
    const tries = label.nudge ? [0, 16, -16, 32, -32, 48] : [0];
    const dy = tries.find((offset) => free(x, label.y + offset, w));
    if (dy !== undefined) placed.push({ ...label, x, y: label.y + dy, width: w });
  }
  return placed;
}

// SPDX-License-Identifier: BSD-3-Clause
// Places labels without overlap. Earlier labels take precedence, so callers sort them by importance.

export interface Label {
  text: string;
  x: number; // centre, in screen coordinates
  y: number;
  colour: string;
  bold?: boolean;
  plate?: boolean; // with a background, to be readable over lines
  nudge?: boolean; // may move up or down to avoid overlap
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
    // Keep an important label inside the edge.
    const x = label.nudge ? Math.min(width - w / 2 - 3, Math.max(w / 2 + 3, label.x)) : label.x;
    const tries = label.nudge ? [0, 16, -16, 32, -32, 48] : [0];
    const dy = tries.find((offset) => free(x, label.y + offset, w));
    if (dy !== undefined) placed.push({ ...label, x, y: label.y + dy, width: w });
  }
  return placed;
}

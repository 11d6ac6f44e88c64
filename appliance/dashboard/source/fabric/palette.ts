// SPDX-License-Identifier: BSD-3-Clause
// The colours of the map from the style sheet, because a canvas cannot use CSS variables.

export interface Palette {
  bins: string[];
  unknown: string;
  text: string;
  muted: string;
  background: string;
  node: string;
  nodeEdge: string;
  accent: string;
  fault: string;
  font: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    bins: [0, 1, 2, 3, 4, 5].map((bin) => of(`--load-${bin}`)),
    unknown: of("--load-unknown"),
    text: of("--text"),
    muted: of("--muted"),
    background: of("--panel"),
    node: of("--node"),
    nodeEdge: of("--node-edge"),
    accent: of("--accent"),
    fault: of("--fault"),
    font: style.fontFamily,
  };
}

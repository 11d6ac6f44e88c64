// SPDX-License-Identifier: BSD-3-Clause
// Draws the map. The lines of each colour are cached as one path in map units, so that panning and
// zooming over thousands of links strokes only a few paths.
import type { Camera } from "./camera";
import { toScreen } from "./camera";
import { placeLabels, type Label } from "./labels";
import type { Layout, Line } from "./layout";
import type { Colouring } from "./loads";
import type { Element, Fabric, FabricNode } from "./model";
import type { Palette } from "./palette";

export interface Mark {
  element: Element;
  label: string;
  fault: boolean; // false: a hotspot
}

export interface Scene {
  fabric: Fabric;
  layout: Layout;
  colouring: Colouring;
  marks: Mark[]; // the most important ones first
  hover?: Element;
  selected?: Element;
  ends: number[]; // the two nodes whose paths are shown
  path?: Map<number, number>; // link to its share of the traffic, 0 to 1
}

export interface Strokes {
  unknown: Path2D;
  bins: Path2D[]; // single lines
  bundles: { path: Path2D; bin: number; links: number }[];
}

function addLine(path: Path2D, line: Line) {
  path.moveTo(line.x1, line.y1);
  path.lineTo(line.x2, line.y2);
}

export function buildStrokes(layout: Layout, colouring: Colouring): Strokes {
  const strokes: Strokes = {
    unknown: new Path2D(),
    bins: Array.from({ length: colouring.bounds.length + 1 }, () => new Path2D()),
    bundles: [],
  };
  for (const line of layout.lines) {
    let bin = -1;
    for (const link of line.links) bin = Math.max(bin, colouring.bins[link] ?? -1);
    if (line.links.length > 1) {
      const path = new Path2D();
      addLine(path, line);
      strokes.bundles.push({ path, bin, links: line.links.length });
    } else {
      addLine(bin < 0 ? strokes.unknown : (strokes.bins[bin] as Path2D), line);
    }
  }
  strokes.bundles.sort((a, b) => a.bin - b.bin);
  return strokes;
}

function lineOf(scene: Scene, link: number): Line | undefined {
  return scene.layout.lines[scene.layout.lineOfLink[link] ?? -1];
}

// A selected link of a bundle ends at its own host, not at the edge of the group.
function strokeLink(context: CanvasRenderingContext2D, scene: Scene, link: number) {
  const line = lineOf(scene, link);
  const host = scene.layout.boxes[scene.fabric.links[link]?.a ?? -1];
  if (!line || !host) return;
  const single = scene.layout.groups.length === 0 || scene.fabric.nodes[scene.fabric.links[link]?.a ?? -1]?.tier !== "host";
  context.beginPath();
  context.moveTo(single ? line.x1 : host.x, single ? line.y1 : host.y);
  context.lineTo(line.x2, line.y2);
  context.stroke();
}

function middleOf(scene: Scene, element: Element): { x: number; y: number } | undefined {
  if (element.kind === "node") return scene.layout.boxes[element.node];
  const line = lineOf(scene, element.link);
  return line && { x: (line.x1 + line.x2) / 2, y: (line.y1 + line.y2) / 2 };
}

// With thousands of lines, those with low values are drawn more transparent.
const kAlphaOfMany = [0.25, 0.35, 0.5, 0.8, 1, 1];

function drawLinks(c: CanvasRenderingContext2D, scene: Scene, strokes: Strokes, p: Palette, px: number) {
  const many = scene.layout.lines.length > 1000;
  const dimmed = scene.path ? 0.18 : 1;
  c.globalAlpha = dimmed;
  c.lineWidth = (many ? 0.6 : 1) * px;
  c.strokeStyle = p.unknown;
  c.stroke(strokes.unknown);
  strokes.bins.forEach((path, bin) => {
    c.globalAlpha = dimmed * (many ? (kAlphaOfMany[bin] ?? 1) : 1);
    c.strokeStyle = p.bins[bin] as string;
    c.lineWidth = (many ? 0.7 : 1.2) * px * (bin >= 4 ? 2 : bin >= 2 ? 1.4 : 1);
    c.stroke(path);
  });
  c.globalAlpha = dimmed;
  for (const bundle of strokes.bundles) {
    c.strokeStyle = bundle.bin < 0 ? p.unknown : (p.bins[bundle.bin] as string);
    c.lineWidth = (1 + Math.log2(bundle.links) * 0.4) * px;
    c.stroke(bundle.path);
  }
  c.globalAlpha = 1;
}

function drawNodes(c: CanvasRenderingContext2D, scene: Scene, p: Palette, px: number) {
  c.fillStyle = p.background;
  c.strokeStyle = p.nodeEdge;
  c.lineWidth = px;
  for (const group of scene.layout.groups) {
    c.beginPath();
    c.rect(group.x - group.width / 2, group.y - group.height / 2, group.width, group.height);
    c.fill();
    c.stroke();
  }
  c.fillStyle = p.node;
  c.beginPath();
  scene.layout.boxes.forEach((box) => c.rect(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height));
  c.fill();
  c.lineWidth = 0.8 * px;
  c.stroke();
}

function ring(c: CanvasRenderingContext2D, scene: Scene, node: number, px: number, away: number) {
  const box = scene.layout.boxes[node];
  if (!box) return;
  const [w, h] = [box.width + 2 * away * px, box.height + 2 * away * px];
  c.strokeRect(box.x - w / 2, box.y - h / 2, w, h);
}

function drawElement(c: CanvasRenderingContext2D, scene: Scene, element: Element, px: number, width: number) {
  c.lineWidth = width * px;
  if (element.kind === "node") ring(c, scene, element.node, px, 2);
  else strokeLink(c, scene, element.link);
}

function drawHighlights(c: CanvasRenderingContext2D, scene: Scene, p: Palette, px: number) {
  c.globalAlpha = scene.path ? 0.3 : 1;
  for (const mark of [...scene.marks].reverse()) {
    if (mark.fault) {
      c.strokeStyle = p.background;
      drawElement(c, scene, mark.element, px, 8);
      c.strokeStyle = p.fault;
      drawElement(c, scene, mark.element, px, 4.5);
    } else {
      // A hotspot keeps the colour of its link and gets an outline.
      c.strokeStyle = p.text;
      drawElement(c, scene, mark.element, px, 6);
      const bin = mark.element.kind === "link" ? (scene.colouring.bins[mark.element.link] ?? -1) : -1;
      c.strokeStyle = bin < 0 ? p.unknown : (p.bins[bin] as string);
      drawElement(c, scene, mark.element, px, 3.5);
    }
  }
  for (const [link, weight] of scene.path ?? []) {
    c.strokeStyle = p.accent;
    c.globalAlpha = 0.35 + 0.65 * weight;
    c.lineWidth = (1.5 + 3 * weight) * px;
    strokeLink(c, scene, link);
  }
  c.globalAlpha = 1;
  c.strokeStyle = p.accent;
  for (const node of scene.ends) {
    c.lineWidth = 2.5 * px;
    ring(c, scene, node, px, 3);
  }
  if (scene.selected) drawElement(c, scene, scene.selected, px, 3);
  if (scene.hover) {
    c.strokeStyle = p.text;
    drawElement(c, scene, scene.hover, px, 2);
  }
}

function nodeLabels(scene: Scene, camera: Camera, p: Palette): Label[] {
  const labels: Label[] = [];
  const singleHosts = scene.layout.groups.length === 0;
  const label = (node: FabricNode, host: boolean) => {
    const box = scene.layout.boxes[node.index];
    if (!box) return;
    const at = toScreen(camera, box.x, host ? box.y + box.height / 2 : box.y);
    const inside = box.height * camera.scale >= 13 && !host;
    const y = inside ? at.y : host ? at.y + 11 : at.y - (box.height * camera.scale) / 2 - 7;
    labels.push({ text: node.name, x: at.x, y, colour: host ? p.muted : p.text });
  };
  for (const row of scene.layout.rows) {
    const host = row.tier === "host";
    const room = host && !singleHosts ? camera.scale > 5 : true;
    if (room) row.nodes.forEach((node) => label(scene.fabric.nodes[node] as FabricNode, host));
  }
  for (const group of scene.layout.groups) {
    const at = toScreen(camera, group.x, group.y + group.height / 2);
    const text = group.width * camera.scale > 110 ? group.name : `${group.hosts.length} hosts`;
    labels.push({ text, x: at.x, y: at.y + 11, colour: p.muted });
  }
  return labels;
}

function markLabels(scene: Scene, camera: Camera, p: Palette): Label[] {
  return scene.marks.flatMap((mark) => {
    const middle = middleOf(scene, mark.element);
    if (!middle) return [];
    const at = toScreen(camera, middle.x, middle.y);
    const y = mark.element.kind === "node" ? at.y - 20 : at.y;
    const colour = mark.fault ? p.fault : p.text;
    return [{ text: mark.label, x: at.x, y, colour, bold: mark.fault, plate: true, nudge: true }];
  });
}

// At the left edge, independent of the camera.
function tierLabels(c: CanvasRenderingContext2D, scene: Scene, camera: Camera, p: Palette): Label[] {
  c.font = `11px ${p.font}`;
  return scene.layout.rows.map(({ tier, y }) => ({
    text: tier, x: 6 + c.measureText(tier).width / 2, y: toScreen(camera, 0, y).y, colour: p.muted,
  }));
}

function drawLabels(c: CanvasRenderingContext2D, labels: Label[], p: Palette, width: number, height: number) {
  const fontOf = (label: Label) => `${label.bold ? "600 " : ""}11px ${p.font}`;
  const placed = placeLabels(labels, (label) => {
    c.font = fontOf(label);
    return c.measureText(label.text).width;
  }, width, height);
  c.textAlign = "center";
  c.textBaseline = "middle";
  for (const label of placed) {
    c.font = fontOf(label);
    if (label.plate) {
      c.fillStyle = p.background;
      c.strokeStyle = label.colour;
      c.lineWidth = 1;
      c.beginPath();
      c.rect(label.x - label.width / 2, label.y - 8, label.width, 15);
      c.fill();
      c.stroke();
    }
    if (!label.plate) {
      c.strokeStyle = p.background;
      c.lineWidth = 3;
      c.strokeText(label.text, label.x, label.y);
    }
    c.fillStyle = label.colour;
    c.fillText(label.text, label.x, label.y);
  }
}

export interface Screen {
  width: number; // in CSS pixels
  height: number;
  ratio: number; // device pixels per CSS pixel
}

function useMapUnits(c: CanvasRenderingContext2D, { scale, x, y }: Camera, ratio: number): number {
  c.setTransform(scale * ratio, 0, 0, scale * ratio, x * ratio, y * ratio);
  return 1 / scale; // one screen pixel
}

// The part of the map that does not change with the pointer.
export function drawBase(
  c: CanvasRenderingContext2D, scene: Scene, strokes: Strokes, camera: Camera, p: Palette, screen: Screen,
) {
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.clearRect(0, 0, c.canvas.width, c.canvas.height);
  const px = useMapUnits(c, camera, screen.ratio);
  drawLinks(c, scene, strokes, p, px);
  drawNodes(c, scene, p, px);
}

export function drawAbove(
  c: CanvasRenderingContext2D, base: CanvasImageSource, scene: Scene, camera: Camera, p: Palette, screen: Screen,
) {
  const { width, height, ratio } = screen;
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.clearRect(0, 0, c.canvas.width, c.canvas.height);
  c.drawImage(base, 0, 0);
  drawHighlights(c, scene, p, useMapUnits(c, camera, ratio));
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  const labels = [...markLabels(scene, camera, p), ...tierLabels(c, scene, camera, p), ...nodeLabels(scene, camera, p)];
  drawLabels(c, labels, p, width, height);
}

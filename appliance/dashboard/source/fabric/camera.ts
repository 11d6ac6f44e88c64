// SPDX-License-Identifier: BSD-3-Clause
// The visible part of the map: screen = map * scale + (x, y).
import type { Layout } from "./layout";

export interface Camera {
  scale: number;
  x: number;
  y: number;
}

const kMargin = { left: 54, right: 14, top: 22, bottom: 56 };
const kMaxScale = 12;

// The space for the map without the tier names and the labels below hosts.
export function spaceFor(width: number, height: number): { across: number; down: number } {
  return {
    across: Math.max(1, width - kMargin.left - kMargin.right),
    down: Math.max(1, height - kMargin.top - kMargin.bottom),
  };
}

export function fit(layout: Layout, width: number, height: number): Camera {
  const { across, down } = spaceFor(width, height);
  const scale = Math.min(across / layout.width, down / layout.height, 3);
  return {
    scale,
    x: kMargin.left + (across - layout.width * scale) / 2,
    y: kMargin.top + (down - layout.height * scale) / 2,
  };
}

// Zooms around the given point.
export function zoomAt(camera: Camera, x: number, y: number, factor: number, least: number): Camera {
  const scale = Math.min(kMaxScale, Math.max(least, camera.scale * factor));
  const ratio = scale / camera.scale;
  return { scale, x: x - (x - camera.x) * ratio, y: y - (y - camera.y) * ratio };
}

export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx, y: camera.y + dy };
}

export function toMap(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: (x - camera.x) / camera.scale, y: (y - camera.y) / camera.scale };
}

export function toScreen(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: x * camera.scale + camera.x, y: y * camera.scale + camera.y };
}

// SPDX-License-Identifier: BSD-3-Clause
// The canvas with the map, and its pointer and keyboard handling. It redraws when something changed,
// at most once per frame.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fit, pan, spaceFor, toMap, zoomAt, type Camera } from "./camera";
import { buildStrokes, drawAbove, drawBase, type Mark, type Scene } from "./draw";
import { elementAt } from "./hit";
import { step, type Step } from "./keyboard";
import { layOut, type Layout } from "./layout";
import type { Colouring } from "./loads";
import type { Element, Fabric } from "./model";
import { readPalette, type Palette } from "./palette";

interface Props {
  fabric: Fabric;
  colouring: Colouring;
  marks: Mark[];
  ends: number[];
  path?: Map<number, number>;
  hover?: Element;
  selected?: Element;
  theme: string;
  onHover(element: Element | undefined): void;
  onSelect(element: Element | undefined): void;
}

// Larger fabrics group hosts into boxes, because the links of a longer row would overlap.
const kMaxSingleHosts = 64;
const kReachPx = 6;
const kSteps: Record<string, Step> = {
  ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down",
};

// Rounded, so that resizing the window does not recompute the layout for each pixel.
function aspectOf(width: number, height: number): number {
  const { across, down } = spaceFor(width, height);
  return Math.max(0.5, Math.round((across / down) * 5) / 5);
}

interface View {
  camera: Camera;
  moved: boolean; // the user moved it, so a new size does not reset the camera
  width: number;
  height: number;
}

function worstOf(colouring: Colouring) {
  return (links: number[]) =>
    links.reduce((a, b) => ((colouring.values[b] ?? -1) > (colouring.values[a] ?? -1) ? b : a));
}

export function FabricMap(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ camera: { scale: 1, x: 0, y: 0 }, moved: false, width: 0, height: 0 });
  const latest = useRef(props);
  latest.current = props;
  const [aspect, setAspect] = useState(2);
  const layout = useMemo(
    () => layOut(props.fabric, { aspect, mostSingleHosts: kMaxSingleHosts }),
    [props.fabric, aspect],
  );
  const layoutRef = useRef<Layout>(layout);
  layoutRef.current = layout;
  const strokes = useMemo(() => buildStrokes(layout, props.colouring), [layout, props.colouring]);
  const palette = useRef<Palette | undefined>(undefined);
  const frame = useRef(0);
  // Cached lines and boxes, with the inputs they were drawn from. Pointer moves do not change them.
  const base = useRef({ canvas: document.createElement("canvas"), drawn: [] as unknown[] });

  const paint = useRef(() => {});
  paint.current = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || element.width === 0 || element.height === 0) return;
    palette.current ??= readPalette(element);
    const { camera, width, height } = view.current;
    const scene: Scene = { ...props, layout };
    const screen = { width, height, ratio: window.devicePixelRatio || 1 };
    const drawn = [strokes, camera, palette.current, props.path, element.width, element.height];
    if (base.current.drawn.some((part, i) => part !== drawn[i]) || base.current.drawn.length === 0) {
      Object.assign(base.current.canvas, { width: element.width, height: element.height });
      const below = base.current.canvas.getContext("2d");
      if (below) drawBase(below, scene, strokes, camera, palette.current, screen);
      base.current.drawn = drawn;
    }
    drawAbove(context, base.current.canvas, scene, camera, palette.current, screen);
  };
  const redraw = () => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      paint.current();
    });
  };
  const fitAll = () => {
    const { width, height } = view.current;
    view.current.camera = fit(layoutRef.current, width, height);
    view.current.moved = false;
    redraw();
  };
  const zoom = (factor: number, x = view.current.width / 2, y = view.current.height / 2) => {
    const { width, height } = view.current;
    const least = fit(layoutRef.current, width, height).scale * 0.5;
    view.current.camera = zoomAt(view.current.camera, x, y, factor, least);
    view.current.moved = true;
    redraw();
  };

  useEffect(redraw);
  useEffect(() => {
    palette.current = undefined;
    redraw();
  }, [props.theme]);
  useEffect(fitAll, [layout]);
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      const ratio = window.devicePixelRatio || 1;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      Object.assign(view.current, { width, height });
      setAspect(aspectOf(width, height));
      if (!view.current.moved) fitAll();
      redraw();
    });
    observer.observe(element);
    const release = listen(element);
    return () => {
      observer.disconnect();
      release();
      cancelAnimationFrame(frame.current);
    };
  }, []);

  function listen(element: HTMLCanvasElement): () => void {
    const pointers = new Map<number, { x: number; y: number }>();
    let travelled = 0;
    const at = (event: PointerEvent | WheelEvent) => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const under = (point: { x: number; y: number }) => {
      const { camera } = view.current;
      const place = toMap(camera, point.x, point.y);
      const reach = kReachPx / camera.scale;
      return elementAt(layoutRef.current, place.x, place.y, reach, worstOf(latest.current.colouring));
    };
    const down = (event: PointerEvent) => {
      element.setPointerCapture(event.pointerId);
      if (pointers.size === 0) travelled = 0;
      pointers.set(event.pointerId, at(event));
    };
    const move = (event: PointerEvent) => {
      const point = at(event);
      const before = pointers.get(event.pointerId);
      if (!before) return latest.current.onHover(under(point));
      travelled += Math.abs(point.x - before.x) + Math.abs(point.y - before.y);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const spread = (p: { x: number; y: number }) => Math.hypot(p.x - other.x, p.y - other.y);
        zoom(spread(point) / Math.max(1, spread(before)), other.x, other.y);
      } else if (travelled > 4) {
        view.current.camera = pan(view.current.camera, point.x - before.x, point.y - before.y);
        view.current.moved = true;
        redraw();
      }
      pointers.set(event.pointerId, point);
    };
    const up = (event: PointerEvent) => {
      if (pointers.delete(event.pointerId) && travelled <= 4 && event.type === "pointerup")
        latest.current.onSelect(under(at(event)));
    };
    const leave = () => latest.current.onHover(undefined);
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const { x, y } = at(event);
      zoom(Math.exp(-event.deltaY * 0.0015), x, y);
    };
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
    element.addEventListener("pointerleave", leave);
    // Not passive, because the page must not scroll while the map zooms.
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }

  function key(event: KeyboardEvent) {
    const direction = kSteps[event.key];
    if (direction) {
      const from = props.hover ?? props.selected;
      props.onHover(step(layout, from?.kind === "node" ? from.node : undefined, direction));
    } else if (event.key === "Enter" && props.hover) props.onSelect(props.hover);
    else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") fitAll();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <div class="map">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label="Map of the fabric. Arrow keys move between nodes, Enter selects a node, plus and minus zoom, 0 shows all. The table below lists the busiest links."
        onKeyDown={key}
      />
      <div class="map-buttons">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.4)}>+</button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.4)}>−</button>
        <button type="button" onClick={fitAll}>Fit</button>
      </div>
    </div>
  );
}

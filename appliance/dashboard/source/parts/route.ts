// SPDX-License-Identifier: BSD-3-Clause
// The URL fragment contains the view, an optional name and the selection, so that links can be
// shared.
import { useEffect, useState } from "preact/hooks";
import type { TableState } from "./table";

export const kViews = [
  { name: "overview", title: "Overview" },
  { name: "fabric", title: "Fabric" },
  { name: "jobs", title: "Jobs" },
  { name: "paths", title: "Paths" },
  { name: "hotspots", title: "Hotspots" },
  { name: "findings", title: "Findings" },
  { name: "sources", title: "Sources" },
] as const;
export type ViewName = (typeof kViews)[number]["name"];

export interface Route {
  view: ViewName;
  name: string; // job name or finding ID; empty: none
  query: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first = "", second = ""] = path.split("/");
  const view = kViews.find((candidate) => candidate.name === first)?.name ?? "overview";
  let name = second;
  try {
    name = decodeURIComponent(second);
  } catch {
    // A truncated link: the view reports an unknown job.
  }
  return { view, name, query: Object.fromEntries(new URLSearchParams(query)) };
}

// The link keeps the selected minute, unless `query` has another one.
export function href(view: ViewName, query: Record<string, string> = {}, name = ""): string {
  const { time = "" } = parseRoute(location.hash).query;
  const kept = Object.entries({ ...query, time: query["time"] ?? time }).filter(([, value]) => value !== "");
  const text = new URLSearchParams(kept).toString();
  return `#/${view}${name && `/${encodeURIComponent(name)}`}${text && `?${text}`}`;
}

// A view with the time range of the current one.
export function hrefOfView(view: ViewName, { range = "", start = "", end = "" }: Record<string, string>): string {
  return href(view, { range, start, end });
}

export const hrefOfPlace = (place: string) => href("fabric", { at: place });
export const hrefOfJob = (id: string) => href("jobs", {}, id);

// Selections within a view do not add to the browser history.
export function choose(route: Route, changes: Record<string, string>) {
  const next = href(route.view, { ...route.query, ...changes }, route.name);
  history.replaceState(null, "", next);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// The order, the filter and the open row of a table, as the URL keeps them.
export function tableInUrl(route: Route): TableState {
  return {
    ...orderInUrl(route),
    filter: route.query["text"] ?? "",
    onFilter: (text: string) => choose(route, { text }),
  };
}

// Without the filter, for a table that has a filter of its own.
export function orderInUrl(route: Route): TableState {
  const { sort: order = "", row: opened = "" } = route.query;
  return { order, opened, onOrder: (sort: string) => choose(route, { sort }), onOpen: (row: string) => choose(route, { row }) };
}

// The same, as an entry of the browser history: the button Back undoes it.
export function visit(route: Route, changes: Record<string, string>) {
  location.hash = href(route.view, { ...route.query, ...changes }, route.name);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(location.hash));
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return route;
}

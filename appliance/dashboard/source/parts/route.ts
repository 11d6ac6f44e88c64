// SPDX-License-Identifier: BSD-3-Clause
// What is shown stands in the address behind "#", so that it can be sent to somebody: the view, at
// most one name, and what was chosen in it.
import { useEffect, useState } from "preact/hooks";

export const kViews = [
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
  name: string; // of a job; empty: none
  query: Record<string, string>;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first = "", second = ""] = path.split("/");
  const view = kViews.find((candidate) => candidate.name === first)?.name ?? "fabric";
  let name = second;
  try {
    name = decodeURIComponent(second);
  } catch {
    // Cut off while it was copied: then no job has that name, and the view says so.
  }
  return { view, name, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function href(view: ViewName, query: Record<string, string> = {}, name = ""): string {
  const kept = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(kept).toString();
  return `#/${view}${name && `/${encodeURIComponent(name)}`}${text && `?${text}`}`;
}

export const hrefOfPlace = (place: string) => href("fabric", { at: place });
export const hrefOfJob = (id: string) => href("jobs", {}, id);

// Choices within a view leave no trail of addresses to go back through.
export function choose(route: Route, changes: Record<string, string>) {
  const next = href(route.view, { ...route.query, ...changes }, route.name);
  history.replaceState(null, "", next);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
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

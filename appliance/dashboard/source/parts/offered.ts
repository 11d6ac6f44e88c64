// SPDX-License-Identifier: BSD-3-Clause
// The views and places that the page can show. A file has no sources, and without a topology no map.
import { useContext } from "preact/hooks";
import type { DataSource } from "../api/data_source";
import { SharedContext } from "../store/use_store";
import { kViews, type ViewName } from "./route";

// The view shows nothing without this data.
const kNeeded: Partial<Record<ViewName, string>> = {
  fabric: "/api/v1/topology",
  paths: "/api/v1/topology",
  hotspots: "/api/v1/hotspots",
  sources: "/api/v1/sources",
};

export function offersView(source: DataSource | undefined, view: ViewName): boolean {
  const needed = kNeeded[view];
  return needed === undefined || (source?.offers?.(needed) ?? true);
}

// Undefined outside of a page, for example in tests of one component.
export function useSource(): DataSource | undefined {
  return useContext(SharedContext)?.store.source;
}

export function useViews() {
  const source = useSource();
  return kViews.filter(({ name }) => offersView(source, name));
}

// SPDX-License-Identifier: BSD-3-Clause
// Responses that are embedded in the HTML file by `rocescope replay -o html`: an object that maps
// request paths to responses.
import type { Answer, DataSource, SourceListener } from "./data_source";
import { findStoredPaths } from "./stored_paths";

export const kDataElement = "rocescope-data";

// Undefined if the page has no embedded data.
export function readEmbedded(page: Document): Record<string, unknown> | undefined {
  const text = page.getElementById(kDataElement)?.textContent;
  if (!text) return undefined;
  return JSON.parse(text) as Record<string, unknown>;
}

// A file stores complete lists, so paging parameters do not matter. Views that send a filter also
// filter themselves.
function withoutPaging(path: string): string {
  const [base = "", query = ""] = path.split("?");
  const kept = new URLSearchParams(query);
  kept.delete("page_size");
  kept.delete("page_token");
  kept.delete("filter");
  const rest = [...kept]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("&");
  return rest ? `${base}?${rest}` : base;
}

export class EmbeddedSource implements DataSource {
  readonly live = false;

  constructor(private readonly stored: Record<string, unknown>) {}

  async get(path: string): Promise<Answer> {
    const plain = withoutPaging(path);
    const value = this.stored[path] ?? this.stored[plain] ?? findStoredPaths(this.stored, plain);
    if (value !== undefined) return { kind: "answer", value };
    return { kind: "not_stored", message: "This file does not contain the requested data." };
  }

  watch(listener: SourceListener): () => void {
    listener.connection("steady");
    return () => {};
  }
}

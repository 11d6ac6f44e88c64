// SPDX-License-Identifier: BSD-3-Clause
// Reads all pages of a list. A view that requests a list without page_size gets the whole list, also
// with at_time; a view that needs only the top of a list sets page_size.
import { withoutAtTime } from "../past/minute";
import type { Answer, DataSource } from "./data_source";

// The lists that are requested whole, with the field that contains their elements.
const kListFields: Record<string, string> = {
  "/api/v1/sources": "sources",
  "/api/v1/links": "link_loads",
  "/api/v1/findings": "findings",
  "/api/v1/anomalies": "anomalies",
  "/api/v1/jobs": "jobs",
};

export const kMaxPageSize = 1000; // limit of the API
export const kMaxPages = 200;
export const kMaxAttempts = 3;

type Page = Record<string, unknown> & { next_page_token?: string };

// True if the appliance no longer has the snapshot of the first page.
export function isOutdated(answer: Answer): boolean {
  return (
    answer.kind === "refused" &&
    (answer.error.reason === "PAGE_FORGOTTEN" || answer.error.reason === "OUT_OF_RANGE")
  );
}

async function readPages(source: DataSource, path: string, field: string): Promise<Answer> {
  const elements: unknown[] = [];
  let first: Page | undefined;
  let token = "";
  for (let pages = 0; pages < kMaxPages; ++pages) {
    const [base, own] = path.split("?");
    const query = new URLSearchParams(own);
    query.set("page_size", String(kMaxPageSize));
    if (token) query.set("page_token", token);
    const answer = await source.get(`${base}?${query}`);
    if (answer.kind !== "answer") return answer;
    const page = answer.value as Page;
    first ??= page;
    elements.push(...((page[field] as unknown[] | undefined) ?? []));
    token = page.next_page_token ?? "";
    if (!token) break;
  }
  // A token that is left shows that the list has more than kMaxPages pages.
  return { kind: "answer", value: { ...first, [field]: elements, next_page_token: token } };
}

// Sends one request for a path that is not a whole list. Otherwise reads all pages from the same
// snapshot, and starts again if the appliance no longer has it.
export async function getWhole(source: DataSource, path: string): Promise<Answer> {
  const field = kListFields[withoutAtTime(path)];
  if (field === undefined) return source.get(path);
  let answer = await readPages(source, path, field);
  for (let attempt = 1; attempt < kMaxAttempts && isOutdated(answer); ++attempt) {
    answer = await readPages(source, path, field);
  }
  return answer;
}

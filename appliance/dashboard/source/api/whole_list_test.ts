// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Answer, DataSource } from "./data_source";
import { getWhole, kMaxAttempts, kMaxPages } from "./whole_list";

function sourceOf(respond: (query: URLSearchParams, path: string) => Answer) {
  const paths: string[] = [];
  const source: DataSource = {
    live: true,
    get: async (path) => {
      paths.push(path);
      return respond(new URLSearchParams(path.split("?")[1]), path);
    },
    watch: () => () => {},
  };
  return { source, paths };
}
const page = (value: unknown): Answer => ({ kind: "answer", value });
const kForgotten: Answer = {
  kind: "refused", status: 400, error: { reason: "PAGE_FORGOTTEN", message: "start again" },
};

it("follows next_page_token and keeps the fields of the first page", async () => {
  const { source, paths } = sourceOf((query) =>
    query.has("page_token")
      ? page({ link_loads: [{ port: "b" }], total_size: 2, next_page_token: "" })
      : page({ link_loads: [{ port: "a" }], total_size: 2, next_page_token: "t=1&2", start_time: "2026-01-31T12:00:00Z" }),
  );
  expect(await getWhole(source, "/api/v1/links")).toEqual(
    page({ link_loads: [{ port: "a" }, { port: "b" }], total_size: 2, next_page_token: "", start_time: "2026-01-31T12:00:00Z" }),
  );
  expect(paths).toEqual(["/api/v1/links?page_size=1000", "/api/v1/links?page_size=1000&page_token=t%3D1%262"]);
});

it("sends one request for other paths", async () => {
  const { source, paths } = sourceOf(() => page({ hotspots: [], next_page_token: "more" }));
  await getWhole(source, "/api/v1/hotspots?page_size=100");
  await getWhole(source, "/api/v1/health");
  expect(paths).toEqual(["/api/v1/hotspots?page_size=100", "/api/v1/health"]);
});

it("starts again when the appliance no longer has the snapshot", async () => {
  let forgotten = 1;
  const { source, paths } = sourceOf((query) => {
    if (!query.has("page_token")) return page({ findings: [forgotten], next_page_token: "t" });
    return forgotten-- > 0 ? kForgotten : page({ findings: [9], next_page_token: "" });
  });
  expect(await getWhole(source, "/api/v1/findings")).toMatchObject(page({ findings: [0, 9] }));
  expect(paths).toHaveLength(4);
});

it("gives up after a few attempts, and at once for other errors", async () => {
  const { source, paths } = sourceOf((query) =>
    query.has("page_token") ? kForgotten : page({ findings: [], next_page_token: "t" }));
  expect(await getWhole(source, "/api/v1/findings")).toEqual(kForgotten);
  expect(paths).toHaveLength(2 * kMaxAttempts);
  const unreachable: Answer = { kind: "unreachable", message: "no route" };
  const other = sourceOf(() => unreachable);
  expect(await getWhole(other.source, "/api/v1/findings")).toEqual(unreachable);
  expect(other.paths).toHaveLength(1);
});

it("bounds the number of pages and keeps the token that is left", async () => {
  const { source, paths } = sourceOf(() => page({ jobs: [1], next_page_token: "endless" }));
  const answer = await getWhole(source, "/api/v1/jobs");
  expect(answer).toMatchObject(page({ next_page_token: "endless" }));
  expect(paths).toHaveLength(kMaxPages);
});

it("reads all pages of a past list", async () => {
  const { source, paths } = sourceOf((query) =>
    page({ jobs: [query.has("page_token") ? 2 : 1], next_page_token: query.has("page_token") ? "" : "t" }));
  expect(await getWhole(source, "/api/v1/jobs?at_time=2026-01-31T12%3A03%3A59Z")).toEqual(page({ jobs: [1, 2], next_page_token: "" }));
  const first = "/api/v1/jobs?at_time=2026-01-31T12%3A03%3A59Z&page_size=1000";
  expect(paths).toEqual([first, `${first}&page_token=t`]);
});

// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Answer, DataSource } from "../api/data_source";
import type { ListJobsResponse } from "../api/messages";
import { toNs } from "../format/moments";
import { JobLink } from "../parts/names";
import { parseRoute } from "../parts/route";
import type { Histories } from "../store/histories";
import { Store } from "../store/store";
import { SharedContext, useResource } from "../store/use_store";
import { minuteOf } from "./minute";
import { MinuteContext } from "./minute_context";
import { PastView, Present } from "./past_view";
import { lastMinute, stepQuery, TimeBar } from "./time_bar";

const kNow = Date.parse("2026-01-31T12:10:30Z");
const kTime = "2026-01-31T12:03:00Z";

let parent: HTMLElement;
let requested: string[];
let respond: (path: string) => Answer;

beforeEach(() => {
  vi.useFakeTimers({ now: kNow });
  parent = document.createElement("div");
  requested = [];
  respond = () => ({ kind: "answer", value: {} });
});
afterEach(() => {
  render(null, parent);
  location.hash = "";
  vi.useRealTimers();
});

const refusal = (reason: string): Answer => ({ kind: "refused", status: 404, error: { reason, message: "at_time: the history has no readable answer" } });

function Jobs() {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  return <p class="jobs">{jobs.value?.jobs.map((job) => <JobLink key={job.job_id} id={job.job_id} />)}</p>;
}

// Renders with the minute of the URL, as the page does.
async function show(hash: string, live = true) {
  location.hash = hash;
  const source: DataSource = {
    live,
    get: async (path) => {
      requested.push(path);
      return respond(path);
    },
    watch: () => () => {},
  };
  const store = new Store(source, () => Date.now(), () => false);
  const draw = async () => {
    const route = parseRoute(location.hash);
    await act(async () => {
      render(
        <SharedContext.Provider value={{ store, histories: { jobs: new Map() } as unknown as Histories }}>
          <MinuteContext.Provider value={live ? minuteOf(route.query) : undefined}>
            <TimeBar route={route} />
            <PastView view="jobs" title="Jobs"><Jobs /></PastView>
            <Present what="paths"><Jobs /></Present>
          </MinuteContext.Provider>
        </SharedContext.Provider>,
        parent,
      );
      await vi.advanceTimersByTimeAsync(1);
    });
    await act(async () => {
      await vi.advanceTimersByTimeAsync(1);
    });
  };
  await draw();
  return { store, draw };
}

const text = () => parent.textContent ?? "";
const jobsOf = (path: string): Answer => ({ kind: "answer", value: { jobs: [{ job_id: path.includes("at_time") ? "old" : "new" }], next_page_token: "" } });

it("requests the past answers, and marks what shows the present", async () => {
  respond = jobsOf;
  await show(`#/jobs?time=${kTime}`);
  expect(text()).toContain("Past: 2026-01-31 12:03 UTC");
  expect(text()).toContain("Present: the history does not contain paths.");
  expect([...parent.querySelectorAll(".jobs")].map((jobs) => jobs.textContent)).toEqual(["old", "new"]);
  expect(requested).toContain("/api/v1/jobs?at_time=2026-01-31T12%3A03%3A59Z&page_size=1000");
});

it("keeps the minute in links", async () => {
  respond = jobsOf;
  await show(`#/jobs?time=${kTime}`);
  expect(parent.querySelector(".jobs a")?.getAttribute("href")).toBe("#/jobs/old?time=2026-01-31T12%3A03%3A00Z");
});

it("keeps the former answer until the one of the next minute arrives", async () => {
  respond = jobsOf;
  const { store, draw } = await show(`#/jobs?time=${kTime}`);
  let finish: () => void = () => {};
  const answer = new Promise<Answer>((resolve) => (finish = () => resolve({ kind: "answer", value: { jobs: [] } })));
  store.source.get = () => answer;
  location.hash = "#/jobs?time=2026-01-31T12:04:00Z";
  await draw();
  expect(parent.querySelector(".jobs")?.textContent).toBe("old");
  expect(store.pastAnswers().isLoading).toBe(true);
  expect(text()).toContain("Loading");
  await act(async () => {
    finish();
    await vi.advanceTimersByTimeAsync(1);
  });
  expect(parent.querySelector(".jobs")?.textContent).toBe("");
  expect(store.pastAnswers().isLoading).toBe(false);
});

it("never shows a past answer as the present one", async () => {
  respond = (path) => (path.includes("at_time") ? jobsOf(path) : { kind: "unreachable", message: "" });
  const { store, draw } = await show(`#/jobs?time=${kTime}`);
  store.source.get = () => new Promise(() => {});
  (store as unknown as { slots: Map<string, unknown> }).slots.delete("/api/v1/jobs"); // forgotten
  location.hash = "#/jobs";
  await draw();
  expect(parent.querySelector(".jobs")?.textContent).toBe("");
});

it("says that the stored data is older than the minute", async () => {
  respond = () => ({ kind: "answer", value: { jobs: [], snapshot: { data_time: "2026-01-31T11:58:01Z" } } });
  await show(`#/jobs?time=${kTime}`);
  expect(text()).toContain("data from 11:58 UTC");
});

it("says why there is no data, and links back to live", async () => {
  for (const [reason, sentence] of [
    ["NO_DATA_AT_TIME", "The history contains no data for 2026-01-31 12:03 UTC"], ["NO_HISTORY", "History is not configured"],
  ] as const) {
    respond = (path) => (path.includes("at_time") ? refusal(reason) : { kind: "answer", value: { jobs: [] } });
    await show(`#/jobs?time=${kTime}&tab=x`);
    expect(text()).toContain(sentence);
    expect(parent.querySelector(".past-problem a")?.getAttribute("href")).toBe("#/jobs?tab=x");
    render(null, parent);
  }
});

it("does not show the latest data as that of a future minute", async () => {
  await show("#/jobs?time=2026-01-31T12:11:00Z");
  expect(text()).toContain("2026-01-31 12:11 UTC is in the future");
});

it("states that a time in the URL is not valid", async () => {
  await show("#/jobs?time=yesterday");
  expect(text()).toContain("The time in the URL is not valid");
});

it("has no past in a file", async () => {
  await show(`#/jobs?time=${kTime}`, false);
  expect(text()).not.toContain("Past");
  expect(parent.querySelector(".time-bar")).toBeNull();
  expect(requested.some((path) => path.includes("at_time"))).toBe(false);
});

it("steps by minutes, until the current one", () => {
  const now = BigInt(kNow) * 1_000_000n;
  const at = (time: string) => toNs(time) ?? 0n;
  expect(lastMinute(now)).toBe(at("2026-01-31T12:09:00Z"));
  expect(stepQuery(undefined, -1n, now)).toEqual({ time: "2026-01-31T12:09:00Z" });
  expect(stepQuery(undefined, 1n, now)).toBeUndefined();
  expect(stepQuery(at(kTime), 1n, now)).toEqual({ time: "2026-01-31T12:04:00Z" });
  expect(stepQuery(at("2026-01-31T12:09:00Z"), 1n, now)).toEqual({ time: "2026-01-31T12:10:00Z" });
  expect(stepQuery(at("2026-01-31T12:10:00Z"), 1n, now)).toBeUndefined();
});

it("goes one minute back, and back to live", async () => {
  await show(`#/jobs?time=${kTime}&range=6h`);
  const click = (name: string) => [...parent.querySelectorAll("button")].find((button) => button.textContent === name)?.click();
  click("−1 min");
  expect(location.hash).toContain("time=2026-01-31T12%3A02%3A00Z");
  click("Live");
  expect(location.hash).toBe("#/jobs?range=6h");
});

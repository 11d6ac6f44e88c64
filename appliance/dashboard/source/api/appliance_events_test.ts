// SPDX-License-Identifier: BSD-3-Clause
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApplianceEvents } from "./appliance_events";

class FakeEventSource extends EventTarget {
  onopen?: () => void;
  onerror?: () => void;
  readyState = 1;
  close = vi.fn();
  send(kind: string, data: string, lastEventId = "") {
    this.dispatchEvent(new MessageEvent(kind, { data, lastEventId }));
  }
}

let opened: { url: string; events: FakeEventSource }[];
let received: string[];
let states: string[];
let stream: ApplianceEvents;
const last = () => opened.at(-1) as { url: string; events: FakeEventSource };

beforeEach(() => {
  vi.useFakeTimers();
  [opened, received, states] = [[], [], []];
  stream = new ApplianceEvents(
    "/api/v1/events",
    { event: (event) => received.push(event.kind), connection: (state) => states.push(state) },
    (url) => {
      opened.push({ url, events: new FakeEventSource() });
      return last().events as unknown as EventSource;
    },
  );
});
afterEach(() => {
  stream.close();
  vi.useRealTimers();
});

it("forwards events and ignores truncated ones", () => {
  last().events.send("KIND_SNAPSHOT", JSON.stringify({ kind: "KIND_SNAPSHOT", cursor: "0" }));
  last().events.send("KIND_SNAPSHOT", '{"kind": "KIND_SN');
  expect(received).toEqual(["KIND_SNAPSHOT"]);
});

it("does not interfere with the browser's own retries", () => {
  last().events.readyState = 0;
  last().events.onerror?.();
  vi.advanceTimersByTime(60_000);
  expect(states).toEqual(["lost"]);
  expect(opened).toHaveLength(1);
});

it("reconnects from its cursor after the browser closed the connection", () => {
  last().events.send("KIND_FAULT_STARTED", JSON.stringify({ kind: "KIND_FAULT_STARTED", cursor: "18446744073709551610" }));
  last().events.readyState = 2;
  last().events.onerror?.();
  vi.advanceTimersByTime(3000);
  expect(last().url).toBe("/api/v1/events?cursor=18446744073709551610");
  last().events.onopen?.();
  expect(states).toEqual(["lost", "open"]);
});

it("moves its cursor back after a restart of the appliance", () => {
  last().events.send("KIND_FAULT_RESOLVED", JSON.stringify({ kind: "KIND_FAULT_RESOLVED", cursor: "900" }));
  last().events.send("KIND_GAP", JSON.stringify({ kind: "KIND_GAP", cursor: "3" }));
  last().events.readyState = 2;
  last().events.onerror?.();
  vi.advanceTimersByTime(3000);
  expect(last().url).toBe("/api/v1/events?cursor=3");
});

// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Answer, DataSource } from "../api/data_source";
import type { Finding } from "../api/messages";
import { MinuteContext } from "../past/minute_context";
import type { Histories } from "../store/histories";
import { Store } from "../store/store";
import { SharedContext } from "../store/use_store";
import { makeFinding } from "./fixture";
import { ReviewPanel } from "./review_panel";

const kMute = {
  kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "", mute_time: "2026-01-31T12:05:00Z",
  expire_time: "2026-02-01T12:05:00Z", user: "bob", comment: "spare cable", expired: false,
};

let parent: HTMLElement;
let posted: { path: string; body: unknown }[];
let answer: Answer;

beforeEach(() => {
  parent = document.createElement("div");
  document.body.append(parent);
  posted = [];
  answer = { kind: "answer", value: { durable: true, storage_problem: "" } };
});
afterEach(() => {
  render(null, parent);
  parent.remove();
});

async function show(finding: Finding, { canPost = true, minute }: { canPost?: boolean; minute?: bigint } = {}) {
  const source: DataSource = { live: canPost, get: async () => answer, watch: () => () => {} };
  if (canPost) {
    source.post = async (path, body) => {
      posted.push({ path, body });
      return answer;
    };
  }
  const store = new Store(source, () => 0, () => true);
  await act(() => {
    render(
      <SharedContext.Provider value={{ store, histories: {} as unknown as Histories }}>
        <MinuteContext.Provider value={minute}>
          <ReviewPanel finding={finding} reference={{}} isCurrent />
        </MinuteContext.Provider>
      </SharedContext.Provider>,
      parent,
    );
  });
  return store;
}

const buttons = () => [...parent.querySelectorAll("button")].map((button) => button.textContent);
async function click(name: string) {
  await act(async () => {
    [...parent.querySelectorAll("button")].find((button) => button.textContent === name)?.click();
  });
}

// Waits until the response has been handled.
const submit = () => act(async () => {
  parent.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await new Promise((resolve) => { setTimeout(resolve, 0); });
});

it("mutes with a duration", async () => {
  const store = await show(makeFinding());
  expect(buttons()).toEqual(["Acknowledge …", "Mute …"]);
  await click("Mute …");
  const select = parent.querySelector("select");
  expect(document.activeElement).toBe(select);
  await act(() => {
    select!.value = "3600";
    select!.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await submit();
  store.stop();
  expect(posted).toEqual([{
    path: "/api/v1/findings:mute",
    body: { kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "leaf1:3", comment: "", duration: "3600s" },
  }]);
  expect(parent.querySelector("form")).toBeNull();
  expect(document.activeElement?.getAttribute("role")).toBe("status");
  expect(parent.textContent).toContain("Saved.");
});

it("shows who muted until when, and undoes it", async () => {
  const store = await show(makeFinding({ mute: kMute }));
  expect(parent.textContent).toContain("muted by bob");
  expect(parent.textContent).toContain("until 2026-02-01 12:05:00 UTC: spare cable");
  await click("Unmute");
  store.stop();
  expect(posted.map(({ path }) => path)).toEqual(["/api/v1/findings:unmute"]);
});

it("explains a refusal and hides the buttons", async () => {
  answer = { kind: "refused", status: 403, error: { reason: "NOT_ALLOWED", message: "\"eve\" may not call this" } };
  await show(makeFinding());
  await click("Acknowledge …");
  await submit();
  expect(parent.querySelector("[role=alert]")?.textContent).toBe("Not saved: \"eve\" may not call this");
  expect(buttons()).toEqual([]);
});

it("shows a failure as an error and keeps the form", async () => {
  answer = { kind: "unreachable", message: "timeout" };
  await show(makeFinding());
  await click("Acknowledge …");
  await submit();
  expect(parent.querySelector("[role=alert]")?.textContent).toBe("Not saved: The appliance does not respond: timeout");
  expect(parent.querySelector("form")).not.toBeNull();
});

it("has no buttons in a file or for a past minute", async () => {
  await show(makeFinding(), { canPost: false });
  expect(parent.textContent).toBe("");
  await show(makeFinding({ mute: kMute }), { canPost: false });
  expect(buttons()).toEqual([]);
  await show(makeFinding(), { minute: 1n });
  expect(buttons()).toEqual([]);
});

it("closes the form with Escape", async () => {
  await show(makeFinding());
  await click("Mute …");
  await act(() => {
    parent.querySelector("form")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  });
  expect(parent.querySelector("form")).toBeNull();
});

// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Answer, DataSource } from "../api/data_source";
import { makeFinding } from "./fixture";
import { isMuted, reviewBody, reviewText, sendReview, splitMuted, whyForbidden } from "./review";

const kMute = {
  kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "", mute_time: "2026-01-31T12:05:00Z",
  expire_time: "2026-02-01T12:05:00Z", user: "bob", comment: "spare cable", expired: false,
};
const kAcknowledgement = {
  kind: "gray_loss", place: "leaf1:3-spine0:1", direction: "leaf1:3", start_time: "2026-01-31T11:59:00Z",
  acknowledge_time: "2026-01-31T12:05:00Z", user: "ada", comment: "", ongoing: true,
};

it("separates muted findings", () => {
  const [loud, silent] = [makeFinding(), makeFinding({ mute: kMute })];
  expect([isMuted(loud), isMuted(silent)]).toEqual([false, true]);
  expect(splitMuted([silent, loud])).toEqual({ alerting: [loud], muted: [silent] });
});

it("says who", () => {
  expect(reviewText(makeFinding())).toBe("");
  expect(reviewText(makeFinding({ mute: kMute, acknowledgement: kAcknowledgement })))
    .toBe("acknowledged by ada, muted by bob until 2026-02-01 12:05 UTC");
});

it("names the occurrence, and the mute as it was set", () => {
  const finding = makeFinding({ mute: kMute, acknowledgement: kAcknowledgement });
  const identity = { kind: "gray_loss", place: "leaf1:3-spine0:1" };
  expect(reviewBody("acknowledge", finding, { comment: "x" }))
    .toEqual({ ...identity, direction: "leaf1:3", start_time: "2026-01-31T12:00:00Z", comment: "x" });
  expect(reviewBody("unacknowledge", finding))
    .toEqual({ ...identity, direction: "leaf1:3", start_time: "2026-01-31T11:59:00Z" });
  expect(reviewBody("mute", finding, { seconds: 3600 }))
    .toEqual({ ...identity, direction: "leaf1:3", comment: "", duration: "3600s" });
  expect(reviewBody("unmute", finding)).toEqual({ ...identity, direction: "" });
});

function answering(answer: Answer): DataSource {
  return { live: true, get: async () => answer, post: async () => answer, watch: () => () => {} };
}

it("says what the appliance refuses, and remembers that this client may not change anything", async () => {
  const refused = answering({ kind: "refused", status: 403, error: { reason: "NOT_ALLOWED", message: "\"eve\" may not call" } });
  expect(whyForbidden(refused)).toBeUndefined();
  expect(await sendReview(refused, "mute", {})).toEqual({ done: false, message: "\"eve\" may not call" });
  expect(whyForbidden(refused)).toBe("\"eve\" may not call");
  const unknown = answering({ kind: "refused", status: 404, error: { reason: "UNKNOWN_FINDING", message: "no finding" } });
  expect((await sendReview(unknown, "acknowledge", {})).message).toBe("no finding");
  expect(whyForbidden(unknown)).toBeUndefined();
});

it("warns about a change that is not on disk", async () => {
  const kept = answering({ kind: "answer", value: { durable: true, storage_problem: "" } });
  expect(await sendReview(kept, "mute", {})).toEqual({ done: true, message: "" });
  const lost = answering({ kind: "answer", value: { durable: false, storage_problem: "no file" } });
  expect(await sendReview(lost, "mute", {})).toEqual({ done: true, message: "The change is lost if the appliance restarts: no file" });
});

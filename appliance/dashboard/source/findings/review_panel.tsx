// SPDX-License-Identifier: BSD-3-Clause
// Who acknowledged or muted a finding, until when and why, and the buttons that change it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Finding } from "../api/messages";
import { utcFull, type Reference } from "../format/moments";
import { Moment, Tag } from "../parts/names";
import { useMinute } from "../past/minute_context";
import { useShared } from "../store/use_store";
import {
  kDefaultMuteSeconds, kMuteDurations, reviewBody, sendReview, whyForbidden, type ReviewMethod,
} from "./review";

const kLongestComment = 300; // characters, below the limit of the appliance in bytes

interface FormProps {
  method: "acknowledge" | "mute";
  isBusy: boolean;
  onSend: (values: { comment: string; seconds: number }) => void;
  onClose: () => void;
}

function ReviewForm({ method, isBusy, onSend, onClose }: FormProps) {
  const [comment, setComment] = useState("");
  const [seconds, setSeconds] = useState(kDefaultMuteSeconds);
  const first = useRef<HTMLElement>(null);
  useEffect(() => first.current?.focus(), []);
  const isMute = method === "mute";
  return (
    <form
      class="review-form" aria-label={isMute ? "Mute this fault" : "Acknowledge this finding"}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) onSend({ comment, seconds });
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      {isMute && (
        <label>
          for{" "}
          <select
            ref={(element) => { first.current = element; }} value={String(seconds)}
            onChange={(event) => setSeconds(Number(event.currentTarget.value))}
          >
            {kMuteDurations.map(([value, text]) => <option key={value} value={String(value)}>{text}</option>)}
          </select>
        </label>
      )}
      <label>
        comment{" "}
        <input
          ref={(element) => { if (!isMute) first.current = element; }} type="text" value={comment}
          maxLength={kLongestComment} autocomplete="off" placeholder="ticket, reason"
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isBusy}>{isMute ? "Mute" : "Acknowledge"}</button>
      <button type="button" onClick={onClose}>Cancel</button>
      <span class="muted">
        {isMute
          ? "No alerts for this kind of fault at this place until then, also if it comes back."
          : "For this occurrence only. Alerts continue."}
      </span>
    </form>
  );
}

interface Props {
  finding: Finding;
  reference: Reference;
  isCurrent: boolean; // false: the appliance no longer lists the finding
}

export function ReviewPanel({ finding, reference, isCurrent }: Props) {
  const { store } = useShared();
  const isPast = useMinute() !== undefined;
  const [open, setOpen] = useState<"acknowledge" | "mute">();
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState({ text: "", isError: false });
  const status = useRef<HTMLParagraphElement>(null);
  const { acknowledgement, mute } = finding;
  const { source } = store;
  const isOffered = source.post !== undefined && !isPast && isCurrent;
  const forbidden = isOffered ? whyForbidden(source) : undefined;
  const mayChange = isOffered && forbidden === undefined;
  if (!isOffered && !acknowledgement && !mute && message.text === "") return null;

  const send = async (method: ReviewMethod, values?: { comment: string; seconds: number }) => {
    setBusy(true);
    setMessage({ text: "", isError: false });
    const result = await sendReview(source, method, reviewBody(method, finding, values));
    setBusy(false);
    setMessage({ text: result.done ? result.message || "Saved." : `Not saved: ${result.message}`, isError: !result.done });
    if (result.done || whyForbidden(source) !== undefined) setOpen(undefined);
    if (result.done) store.refresh();
    // The button or the form that had the focus may be gone.
    status.current?.focus();
  };
  const opener = (method: "acknowledge" | "mute", text: string) => mayChange && (
    <button
      type="button" aria-expanded={open === method} disabled={isBusy}
      onClick={() => setOpen(open === method ? undefined : method)}
    >
      {text}
    </button>
  );
  const undo = (method: "unacknowledge" | "unmute", text: string) => mayChange && (
    <button type="button" disabled={isBusy} onClick={() => void send(method)}>{text}</button>
  );
  return (
    <section class="review" aria-label="Acknowledgement and mute">
      {acknowledgement && (
        <p>
          <Tag kind="acknowledged" text="acknowledged" /> by <strong>{acknowledgement.user}</strong>{" "}
          <Moment time={acknowledgement.acknowledge_time} reference={reference} />
          {acknowledgement.comment && <>: {acknowledgement.comment}</>} {undo("unacknowledge", "Withdraw")}
        </p>
      )}
      {mute && (
        <p>
          <Tag kind="muted" text="muted" /> by <strong>{mute.user}</strong>{" "}
          <Moment time={mute.mute_time} reference={reference} /> until {utcFull(mute.expire_time).replace(/\.\d+/, "")}
          {mute.comment && <>: {mute.comment}</>} {undo("unmute", "Unmute")}
        </p>
      )}
      <div class="review-buttons">
        {!acknowledgement && opener("acknowledge", "Acknowledge …")}
        {opener("mute", mute ? "Change mute …" : "Mute …")}
      </div>
      {open && mayChange && (
        <ReviewForm key={open} method={open} isBusy={isBusy} onSend={(values) => void send(open, values)} onClose={() => setOpen(undefined)} />
      )}
      {forbidden !== undefined && !message.isError && <p class="muted">You cannot acknowledge or mute findings: {forbidden}</p>}
      <p ref={status} class={message.isError ? "fault-line" : "muted"} role={message.isError ? "alert" : "status"} tabIndex={-1}>
        {isBusy ? "Saving …" : message.text}
      </p>
    </section>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// The box's server-sent events. A browser reconnects by itself after a broken connection, but gives
// up after an HTTP error such as a proxy's 502: then this begins anew, from the last cursor.
import type { SourceListener } from "./data_source";
import type { BoxEvent } from "./messages";

// Events of kinds without a listener would be lost: EventSource has none for "any".
export const kEventKinds = [
  "answer",
  "fault_started",
  "fault_resolved",
  "fault_withdrawn",
  "source_failed",
  "gap",
];

const kRetryMs = 3000;

export class BoxEvents {
  private events?: EventSource;
  private timer?: ReturnType<typeof setTimeout>;
  private cursor = 0n;

  constructor(
    private readonly path: string,
    private readonly listener: SourceListener,
    private readonly open: (url: string) => EventSource = (url) => new EventSource(url),
  ) {
    this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.events?.close();
  }

  private connect() {
    const url = this.cursor > 0n ? `${this.path}?cursor=${this.cursor}` : this.path;
    const events = this.open(url);
    this.events = events;
    events.onopen = () => this.listener.connection("open");
    events.onerror = () => {
      this.listener.connection("lost");
      if (events.readyState !== 2 /* EventSource.CLOSED */) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.connect(), kRetryMs);
    };
    for (const kind of kEventKinds) {
      events.addEventListener(kind, (message) => this.receive(message as MessageEvent<string>));
    }
  }

  private receive(message: MessageEvent<string>) {
    let event: BoxEvent;
    try {
      event = JSON.parse(message.data) as BoxEvent;
    } catch {
      return; // cut off by a proxy: the next answer brings what it told
    }
    try {
      const cursor = BigInt(event.cursor || message.lastEventId || "0");
      // "gap" may lead back, to a box that began anew.
      if (cursor > this.cursor || (event.kind === "gap" && cursor > 0n)) this.cursor = cursor;
    } catch {
      // Without a cursor a reconnection misses events, which is no reason to miss this one.
    }
    this.listener.event(event);
  }
}

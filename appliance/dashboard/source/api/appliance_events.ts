// SPDX-License-Identifier: BSD-3-Clause
// The appliance's server-sent events. A browser reconnects after a broken connection, but gives up
// after an HTTP error such as a proxy's 502. This class then reconnects from the last cursor.
import type { SourceListener } from "./data_source";
import type { Event as ApplianceEvent, EventKind } from "./messages";

// EventSource cannot listen to all kinds at once, so each kind needs a listener.
export const kEventKinds: EventKind[] = [
  "KIND_SNAPSHOT",
  "KIND_FAULT_STARTED",
  "KIND_FAULT_RESOLVED",
  "KIND_FAULT_WITHDRAWN",
  "KIND_SOURCE_FAILED",
  "KIND_GAP",
];

const kRetryMs = 3000;

export class ApplianceEvents {
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
    let event: ApplianceEvent;
    try {
      event = JSON.parse(message.data) as ApplianceEvent;
    } catch {
      return; // truncated by a proxy: the next response contains the same data
    }
    try {
      const cursor = BigInt(event.cursor || message.lastEventId || "0");
      // After a restart of the appliance, KIND_GAP moves the cursor back.
      if (cursor > this.cursor || (event.kind === "KIND_GAP" && cursor > 0n)) this.cursor = cursor;
    } catch {
      // An invalid cursor only affects reconnection, so still deliver this event.
    }
    this.listener.event(event);
  }
}

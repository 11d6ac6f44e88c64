// SPDX-License-Identifier: BSD-3-Clause
// Events since the page was opened.
import type { Reference } from "../format/moments";
import { enumWords } from "../format/words";
import { Moment, Tag } from "../parts/names";
import { useStoreState } from "../store/use_store";

const kShown = 20;

export function EventList({ reference }: { reference: Reference }) {
  const { events } = useStoreState();
  if (events.length === 0) return null;
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">Events since this page was opened</h2>
      <ul class="events">
        {events.slice(0, kShown).map((event) => (
          <li key={event.cursor}>
            <Moment time={event.event_time} reference={reference} />
            <Tag kind={event.kind === "KIND_FAULT_STARTED" ? "fault" : "resolved"} text={enumWords(event.kind)} />
            {event.sentence}
          </li>
        ))}
      </ul>
    </section>
  );
}

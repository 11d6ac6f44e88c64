// SPDX-License-Identifier: BSD-3-Clause
// Queues that were full: observations, by whose traffic, and what they cost whom.
import { useState } from "preact/hooks";
import type { ListHotspotsResponse } from "../api/messages";
import { HotspotList } from "../hotspots/hotspot_list";
import { count } from "../format/quantities";
import { Await, Notice } from "../parts/await";
import { useReference } from "../parts/reference";
import { choose, type Route } from "../parts/route";
import { useResource } from "../store/use_store";

const kFirst = 100;
const kMost = 1000; // of a page of the API

export function HotspotsView({ route }: { route: Route }) {
  const [most, setMost] = useState(kFirst);
  const { job = "" } = route.query;
  const query = new URLSearchParams(job ? { job, page_size: String(most) } : { page_size: String(most) });
  const answer = useResource<ListHotspotsResponse>(`/api/v1/hotspots?${query}`);
  const reference = useReference();
  return (
    <>
      <h1>Hotspots</h1>
      {job && (
        <p>
          Those that cost job <span class="name">{job}</span> time.{" "}
          <button type="button" onClick={() => choose(route, { job: "" })}>Show all</button>
        </p>
      )}
      <Await resource={answer} what="hotspots">
        {(value) => (
          <>
            {value.hotspots.length === 0 && (
              <Notice kind="empty" title="No queue was seen full.">
                Of switches without counters or in-band telemetry, only marked and delayed flows tell.
              </Notice>
            )}
            <HotspotList hotspots={value.hotspots} reference={reference} />
            {value.hotspots.length < Number(value.total) && (
              <p>
                {count(value.hotspots.length)} of {count(value.total)}.{" "}
                {most < kMost && <button type="button" onClick={() => setMost(kMost)}>Show more</button>}
              </p>
            )}
          </>
        )}
      </Await>
    </>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// Congested queues: observations, causing flows, and affected jobs.
import { useState } from "preact/hooks";
import type { ListHotspotsResponse } from "../api/messages";
import { kMaxPageSize } from "../api/whole_list";
import { HotspotList } from "../hotspots/hotspot_list";
import { count } from "../format/quantities";
import { Await, Notice } from "../parts/await";
import { useReference } from "../parts/reference";
import { choose, type Route } from "../parts/route";
import { useResource } from "../store/use_store";

const kFirst = 100;

export function HotspotsView({ route }: { route: Route }) {
  const [most, setMost] = useState(kFirst);
  const { job = "" } = route.query;
  const query = new URLSearchParams(job ? { job_id: job, page_size: String(most) } : { page_size: String(most) });
  const answer = useResource<ListHotspotsResponse>(`/api/v1/hotspots?${query}`);
  const reference = useReference();
  return (
    <>
      <h1>Hotspots</h1>
      {job && (
        <p>
          Hotspots that delay job <span class="name">{job}</span>.{" "}
          <button type="button" onClick={() => choose(route, { job: "" })}>Show all</button>
        </p>
      )}
      <Await resource={answer} what="hotspots">
        {(value) => (
          <>
            {value.hotspots.length === 0 && (
              <Notice kind="empty" title="No congested queue was observed.">
                On switches without counters or INT, congestion is detectable only from CE marks and delays of flows.
              </Notice>
            )}
            <HotspotList hotspots={value.hotspots} reference={reference} />
            {value.hotspots.length < value.total_size && (
              <p>
                {count(value.hotspots.length)} of {count(value.total_size)}.{" "}
                {most < kMaxPageSize && <button type="button" onClick={() => setMost(kMaxPageSize)}>Show more</button>}
              </p>
            )}
          </>
        )}
      </Await>
    </>
  );
}

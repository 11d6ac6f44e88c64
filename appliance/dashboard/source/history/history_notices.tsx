// SPDX-License-Identifier: BSD-3-Clause
// Why there is no chart: history is not configured, or the range has no data.
import { Absence, Notice } from "../parts/await";
import { choose, type Route } from "../parts/route";
import { queryOfRange } from "../range/range";
import type { Resource } from "../store/use_store";
import { windowText, type TimeWindow } from "./window";

export function isWithoutHistory(resource: Resource<unknown>): boolean {
  return resource.status === "refused" && resource.error?.reason === "NO_HISTORY";
}

export function HistoryAbsence({ resource }: { resource: Resource<unknown> }) {
  if (isWithoutHistory(resource)) {
    return (
      <Notice kind="caution" title="History is not configured">
        Set <code>history.file</code> in the configuration of the appliance, and restart it. It then keeps the values of each minute.
      </Notice>
    );
  }
  if (resource.status === "waiting") return <div class="chart-waiting"><Absence resource={resource} what="history" /></div>;
  return <Absence resource={resource} what="history" />;
}

export function NoPoints({ route, what, window }: { route: Route; what: string; window: TimeWindow }) {
  return (
    <Notice kind="empty" title={`No data of ${what} from ${windowText(window)}`}>
      <p>The history contains no value of it in this range: no telemetry arrived, or the range is older than <code>history.keep_series</code>. The values of the current minute are added when it ends.</p>
      {route.query["range"] !== "7d" && <button type="button" onClick={() => choose(route, queryOfRange("7d"))}>Show the last 7 days</button>}
    </Notice>
  );
}

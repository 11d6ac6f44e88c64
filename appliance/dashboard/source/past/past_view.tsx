// SPDX-License-Identifier: BSD-3-Clause
// Views of a past minute: why there is no data, and which parts show the present.
import type { ComponentChildren } from "preact";
import type { ListFindingsResponse } from "../api/messages";
import { useNow } from "../parts/reference";
import { href, parseRoute } from "../parts/route";
import { queryOfPresent } from "../range/range";
import { useResource, type Resource } from "../store/use_store";
import { minuteText } from "./minute";
import { MinuteContext, useMinute } from "./minute_context";

// The current view without the selected minute.
function presentHref(): string {
  const { view, query, name } = parseRoute(location.hash);
  return href(view, { ...query, ...queryOfPresent(query) }, name);
}

export function BackToLive() {
  return useMinute() === undefined ? null : <p><a href={presentHref()}>Back to live</a></p>;
}

// The message of the appliance without the name of the field.
function plain(message = ""): string {
  const text = message.replace(/^at_time: /, "");
  return text && `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function Problem({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="notice notice-caution past-problem">
      <strong role="status">{title}</strong>
      <div>{children}</div>
      <BackToLive />
    </div>
  );
}

export function isNotStored(resource: Resource<unknown>): boolean {
  return resource.status === "refused" && resource.error?.reason === "NO_DATA_AT_TIME";
}

// In place of data that the history does not contain.
export function NotStored({ what, resource }: { what: string; resource: Resource<unknown> }) {
  const minute = useMinute();
  if (minute === undefined) return null;
  return (
    <Problem title={`The history contains no ${what} for ${minuteText(minute)}`}>
      <p>The appliance was not running, received no telemetry, or has already deleted this data.</p>
      <p class="muted">{plain(resource.error?.message)}</p>
    </Problem>
  );
}

// The view, or why it can show nothing of the selected minute.
export function PastView({ view, title, children }: { view: string; title: string; children: ComponentChildren }) {
  const minute = useMinute();
  const nowNs = useNow();
  const findings = useResource<ListFindingsResponse>(minute === undefined || minute > nowNs ? "" : "/api/v1/findings");
  if (minute === undefined) return <>{children}</>;
  const heading = <h1 class="unseen">{title}</h1>;
  if (minute > nowNs) {
    return <>{heading}<Problem title={`${minuteText(minute)} is in the future`}>Select a minute of the past.</Problem></>;
  }
  if (findings.status === "refused" && findings.error?.reason === "NO_HISTORY") {
    return (
      <>
        {heading}
        <Problem title="History is not configured">
          The appliance keeps no past data. Set <code>history.file</code> in its configuration, and restart it. It then stores the data of each minute.
        </Problem>
      </>
    );
  }
  // The history can contain link loads without other data.
  if (view !== "fabric" && isNotStored(findings)) return <>{heading}<NotStored what="data" resource={findings} /></>;
  return <>{children}</>;
}

// The part shows the present, also if a past minute is selected, and says so.
export function Present({ what, children }: { what: string; children: ComponentChildren }) {
  return (
    <>
      <PresentNote what={what} />
      <MinuteContext.Provider value={undefined}>{children}</MinuteContext.Provider>
    </>
  );
}

export function PresentNote({ what }: { what: string }) {
  if (useMinute() === undefined) return null;
  return <p class="present-note"><strong>Present:</strong> the history does not contain {what}. This is what the appliance knows now.</p>;
}

// SPDX-License-Identifier: BSD-3-Clause
// Placeholders for missing data. Each reason looks different from the others and from an empty
// result.
import type { ComponentChildren } from "preact";
import { count } from "../format/quantities";
import { BackToLive, isNotStored, NotStored } from "../past/past_view";
import type { Resource } from "../store/use_store";

interface NoticeProps {
  kind: "waiting" | "refused" | "lost" | "empty" | "caution";
  title: string;
  children?: ComponentChildren;
}

export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice notice-${kind}`} role={kind === "refused" ? "alert" : undefined}>
      <strong>{title}</strong>
      {children && <div>{children}</div>}
    </div>
  );
}

const kRefusals: Record<string, string> = {
  NO_SNAPSHOT_YET: "Waiting for the first telemetry",
  NO_TOPOLOGY: "No topology is configured",
  UNKNOWN_JOB: "Unknown job",
  UNKNOWN_ELEMENT: "Unknown element",
  PAGE_FORGOTTEN: "The data changed faster than it was transferred",
  TOO_MANY: "Too many concurrent requests",
  NOT_ALLOWED: "Permission denied",
};

export function Absence({ resource, what }: { resource: Resource<unknown>; what: string }) {
  if (isNotStored(resource)) return <NotStored what={what} resource={resource} />;
  switch (resource.status) {
    case "refused": {
      const reason = resource.error?.reason ?? "";
      const kind = reason === "NO_SNAPSHOT_YET" ? "waiting" : "refused";
      return (
        <Notice kind={kind} title={kRefusals[reason] ?? `Cannot load ${what}: the appliance rejected the request`}>
          {resource.error?.message} <code>{reason}</code>
          <BackToLive />
        </Notice>
      );
    }
    case "unreachable":
      return (
        <Notice kind="lost" title={`Cannot load ${what}: the appliance does not respond`}>
          Retrying. <code>{resource.message}</code>
        </Notice>
      );
    case "not_stored":
      return (
        <Notice kind="caution" title={`This file does not contain ${what}`}>
          {resource.message} <code>{resource.path}</code>
        </Notice>
      );
    default:
      return <p class="loading" role="status">Loading {what} …</p>;
  }
}

// Below a list that is incomplete.
export function Truncated({ shown, total }: { shown: number; total: number }) {
  if (shown >= total) return null;
  return <p>Only {count(shown)} of {count(total)} are loaded.</p>;
}

interface AwaitProps<T> {
  resource: Resource<T>;
  what: string; // "jobs"
  children: (value: T) => ComponentChildren;
}

export function Await<T>({ resource, what, children }: AwaitProps<T>) {
  if (resource.value === undefined) return <Absence resource={resource} what={what} />;
  return <>{children(resource.value)}</>;
}

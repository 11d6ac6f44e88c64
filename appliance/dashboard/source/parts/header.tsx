// SPDX-License-Identifier: BSD-3-Clause
// The navigation, the number of faults, and the age of the data.
import type { Health, ListFindingsResponse, ListSourcesResponse } from "../api/messages";
import { isOngoing } from "../findings/finding_state";
import { splitMuted } from "../findings/review";
import { utcFull } from "../format/moments";
import { coarse } from "../format/quantities";
import { useResource, useStoreState } from "../store/use_store";
import { useMinute } from "../past/minute_context";
import { usePresentFreshness } from "./freshness";
import { Tag } from "./names";
import { useViews } from "./offered";
import { href, hrefOfView, type Route } from "./route";
import type { Theme } from "./theme";

interface Props {
  route: Route;
  theme: Theme;
  onToggleTheme(): void;
  onSearch(): void;
  onHelp(): void;
}

function Age() {
  const store = useStoreState();
  const health = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  useResource<ListSourcesResponse>(store.source.live ? "/api/v1/sources" : ""); // keeps collecting the sources' rates
  const freshness = usePresentFreshness();
  const isPast = useMinute() !== undefined;
  if (!store.source.live) return <span class="fresh">recorded data (file)</span>;
  const lost = store.connection === "lost" || health.status === "unreachable" || health.status === "stale";
  const value = health.value;
  if (!value) return <span class="fresh" role="status">{lost ? "The appliance does not respond; retrying" : "Connecting …"}</span>;
  const age = freshness && coarse(freshness.ageNs);
  return (
    <span class="fresh" title={value.snapshot && `data until ${utcFull(value.snapshot.data_time)}`}>
      {lost && <span role="alert"><Tag kind="fault" text="connection lost, retrying" /> </span>}
      {value.state === "STATE_DEGRADED" && <a href={href("sources")}><Tag kind="at_risk" text="degraded" /></a>}
      {value.state === "STATE_WAITING" && <Tag kind="waiting" text="waiting for telemetry" />}
      {freshness?.isOld && <a href={href("sources")}><Tag kind="fault" text="old data" /></a>}
      {freshness && <span class={freshness.isOld ? "old" : ""}>{isPast ? "Telemetry now: " : "Telemetry "}{freshness.isOld ? `stopped ${age} ago` : `${age} old`}</span>}
    </span>
  );
}

function FindingCount() {
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { live } = useStoreState().source;
  if (!findings.value) return null;
  const all = splitMuted(findings.value.findings).alerting;
  const shown = live ? all.filter(isOngoing).length : all.length;
  if (shown === 0) return null;
  return <span class="badge" aria-label={`${shown} faults`}>{shown}</span>;
}

export function Header({ route, theme, onToggleTheme, onSearch, onHelp }: Props) {
  const views = useViews();
  return (
    <header>
      <a class="brand" href={hrefOfView("overview", route.query)}>rocescope</a>
      <nav aria-label="Views">
        {views.map((view, i) => (
          <a key={view.name} href={hrefOfView(view.name, route.query)} aria-current={view.name === route.view ? "page" : undefined}>
            <kbd aria-hidden="true">{i + 1}</kbd> {view.title}
            {view.name === "findings" && <FindingCount />}
          </a>
        ))}
      </nav>
      <Age />
      <button type="button" class="search-open" onClick={onSearch} aria-keyshortcuts="/">Search <kbd aria-hidden="true">/</kbd></button>
      <button type="button" onClick={onToggleTheme} aria-label={`Use ${theme === "dark" ? "light" : "dark"} colours`}>
        {theme === "dark" ? "Light" : "Dark"}
      </button>
      <button type="button" class="key-help" onClick={onHelp} aria-label="Keys">?</button>
    </header>
  );
}

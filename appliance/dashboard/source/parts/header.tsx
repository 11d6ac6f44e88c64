// SPDX-License-Identifier: BSD-3-Clause
// The navigation, the number of faults, and the age of the data.
import type { Health, ListFindingsResponse, ListSourcesResponse } from "../api/messages";
import { isOngoing } from "../findings/finding_state";
import { toNs, utcFull } from "../format/moments";
import { coarse, toNanoseconds } from "../format/quantities";
import { useClock, useResource, useStoreState } from "../store/use_store";
import { Tag } from "./names";
import { clockDifferenceNs } from "./reference";
import { href, kViews, type Route } from "./route";
import type { Theme } from "./theme";

interface Props {
  route: Route;
  theme: Theme;
  onToggleTheme(): void;
  onHelp(): void;
}

// Data older than this many windows is highlighted as old.
const kOldWindows = 5;
const kOldNs = 5e9; // newer data is never old

function Freshness() {
  const store = useStoreState();
  const health = useResource<Health>("/api/v1/health");
  useResource<ListSourcesResponse>("/api/v1/sources"); // keeps collecting the sources' rates
  const now = useClock(1000);
  if (!store.source.live) return <span class="fresh">recorded data (file)</span>;
  const lost = store.connection === "lost" || health.status === "unreachable" || health.status === "stale";
  const value = health.value;
  if (!value) return <span class="fresh" role="status">{lost ? "The appliance does not respond; retrying" : "Connecting …"}</span>;
  const { snapshot } = value;
  const applianceNow = BigInt(now) * 1_000_000n + clockDifferenceNs(value, health.receivedMs);
  const age = Number(applianceNow - (toNs(snapshot?.publish_time) ?? applianceNow));
  const isOld = age > kOldNs && age > kOldWindows * toNanoseconds(snapshot?.window_duration);
  return (
    <span class="fresh" title={snapshot && `data until ${utcFull(snapshot.data_time)}`}>
      {lost && <span role="alert"><Tag kind="fault" text="connection lost, retrying" /> </span>}
      {value.state === "STATE_DEGRADED" && <a href={href("sources")}><Tag kind="at_risk" text="degraded" /></a>}
      {value.state === "STATE_WAITING" && <Tag kind="waiting" text="waiting for telemetry" />}
      {snapshot && <span class={isOld || lost ? "old" : ""}>Updated {age < 1e9 ? "< 1 s" : coarse(age)} ago</span>}
    </span>
  );
}

function FindingCount() {
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { live } = useStoreState().source;
  if (!findings.value) return null;
  const all = findings.value.findings;
  const shown = live ? all.filter(isOngoing).length : all.length;
  if (shown === 0) return null;
  return <span class="badge" aria-label={`${shown} faults`}>{shown}</span>;
}

export function Header({ route, theme, onToggleTheme, onHelp }: Props) {
  return (
    <header>
      <a class="brand" href="#/">rocescope</a>
      <nav aria-label="Views">
        {kViews.map((view, i) => (
          <a key={view.name} href={href(view.name)} aria-current={view.name === route.view ? "page" : undefined}>
            <kbd aria-hidden="true">{i + 1}</kbd> {view.title}
            {view.name === "findings" && <FindingCount />}
          </a>
        ))}
      </nav>
      <Freshness />
      <button type="button" onClick={onToggleTheme} aria-label={`Use ${theme === "dark" ? "light" : "dark"} colours`}>
        {theme === "dark" ? "Light" : "Dark"}
      </button>
      <button type="button" class="key-help" onClick={onHelp} aria-label="Keys">?</button>
    </header>
  );
}

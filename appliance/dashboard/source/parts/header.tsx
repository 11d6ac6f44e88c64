// SPDX-License-Identifier: BSD-3-Clause
// The navigation, the number of faults, and the age of the data.
import type { Health, ListFindingsResponse, ListSourcesResponse } from "../api/messages";
import { isLasting } from "../fabric/marks";
import { utcFull } from "../format/moments";
import { coarse } from "../format/quantities";
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
const kOldWindows = 5n;

function Freshness() {
  const store = useStoreState();
  const health = useResource<Health>("/api/v1/health");
  useResource<ListSourcesResponse>("/api/v1/sources"); // keeps collecting the sources' rates
  const now = useClock(1000);
  if (!store.source.live) return <span class="fresh">recorded data (file)</span>;
  const lost = store.connection === "lost" || health.status === "unreachable" || health.status === "stale";
  const value = health.value;
  if (!value) return <span class="fresh" role="status">{lost ? "The appliance does not respond; retrying" : "Connecting …"}</span>;
  const { age } = value;
  const boxNow = BigInt(now) * 1_000_000n + clockDifferenceNs(value, health.receivedMs);
  const old = age ? boxNow - BigInt(age.published_time_ns) : 0n;
  const tooOld = age && old > kOldWindows * BigInt(age.window_ns) && old > 5_000_000_000n;
  return (
    <span class="fresh" title={age && `data until ${utcFull(age.data_time_ns)}`}>
      {lost && <span role="alert"><Tag kind="fault" text="connection lost, retrying" /> </span>}
      {value.state === "STATE_DEGRADED" && <a href={href("sources")}><Tag kind="at_risk" text="degraded" /></a>}
      {value.state === "STATE_WAITING" && <Tag kind="waiting" text="waiting for telemetry" />}
      {age && <span class={tooOld || lost ? "old" : ""}>Updated {old < 1_000_000_000n ? "< 1 s" : coarse(Number(old))} ago</span>}
    </span>
  );
}

function FindingCount() {
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { live } = useStoreState().source;
  if (!findings.value) return null;
  const all = findings.value.findings;
  const lasting = live ? all.filter(isLasting).length : all.length;
  if (lasting === 0) return null;
  return <span class="badge" aria-label={`${lasting} faults`}>{lasting}</span>;
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

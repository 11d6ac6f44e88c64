// SPDX-License-Identifier: BSD-3-Clause
// The page frame around the views.
import { useEffect, useState } from "preact/hooks";
import { minuteOf, minuteText } from "./past/minute";
import { MinuteContext } from "./past/minute_context";
import { PastView, Present } from "./past/past_view";
import { moveTo, stepQuery, TimeBar } from "./past/time_bar";
import { Header } from "./parts/header";
import { useFreshness } from "./parts/freshness";
import { Guard } from "./parts/guard";
import { KeyHelp, useKeys } from "./parts/keys";
import { useNow } from "./parts/reference";
import { choose, kViews, useRoute } from "./parts/route";
import { useTheme } from "./parts/theme";
import { queryOfPresent } from "./range/range";
import { Search } from "./search/search";
import { useStoreState } from "./store/use_store";
import { FabricView } from "./views/fabric_view";
import { FindingsView } from "./views/findings_view";
import { HotspotsView } from "./views/hotspots_view";
import { JobsView } from "./views/jobs_view";
import { OverviewView } from "./views/overview_view";
import { PathsView } from "./views/paths_view";
import { SourcesView } from "./views/sources_view";

export function App() {
  const route = useRoute();
  const [theme, toggleTheme] = useTheme();
  const [help, setHelp] = useState(false);
  const store = useStoreState();
  const nowNs = useNow();
  const minute = store.source.live ? minuteOf(route.query) : undefined;
  const isOld = (useFreshness()?.isOld ?? false) && (minute === undefined || route.view === "paths" || route.view === "sources");
  const isWaiting = minute !== undefined && store.pastAnswers().isLoading;
  const [search, setSearch] = useState(false);
  useKeys({
    search: () => {
      setHelp(false);
      setSearch(true);
    },
    showHelp: () => setHelp(true),
    step: (minutes) => {
      const changes = store.source.live && stepQuery(minute, minutes, nowNs);
      if (changes) moveTo(route, changes);
    },
    showPresent: () => choose(route, queryOfPresent(route.query)),
    escape: () => {
      if (search) setSearch(false);
      else if (help) setHelp(false);
      else if (route.view === "fabric") choose(route, { at: "", from: "", to: "", dependents: "" });
      else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    },
  });
  const title = kViews.find((view) => view.name === route.view)?.title ?? "";
  useEffect(() => {
    const when = minute === undefined ? "" : `${minuteText(minute)} – `;
    document.title = `${when}${route.name ? `${route.name} – ` : ""}${title} – rocescope`;
  }, [title, route.name, minute]);
  useEffect(() => window.scrollTo(0, 0), [title, route.name]);
  return (
    <MinuteContext.Provider value={minute}>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault(); // the URL fragment is used for the view
        document.getElementById("main")?.focus();
      }}>Skip to content</a>
      <div class="top">
        <Header route={route} theme={theme} onToggleTheme={toggleTheme} onSearch={() => setSearch(true)} onHelp={() => setHelp(true)} />
        <TimeBar route={route} />
      </div>
      <main id="main" class={isOld ? "old-data" : isWaiting ? "waiting-data" : ""} aria-busy={isWaiting} tabIndex={-1}>
        <Guard key={route.view}>
          {route.view === "paths" && <Present what="paths"><PathsView route={route} /></Present>}
          {route.view === "sources" && <Present what="the health of the appliance and its sources"><SourcesView route={route} theme={theme} /></Present>}
          {route.view !== "paths" && route.view !== "sources" && (
            <PastView view={route.view} title={title}>
              {route.view === "overview" && <OverviewView route={route} />}
              {route.view === "fabric" && <FabricView route={route} theme={theme} />}
              {route.view === "jobs" && <JobsView route={route} theme={theme} />}
              {route.view === "hotspots" && <HotspotsView route={route} />}
              {route.view === "findings" && <FindingsView route={route} />}
            </PastView>
          )}
        </Guard>
      </main>
      <Search open={search} onClose={() => setSearch(false)} />
      <KeyHelp open={help} onClose={() => setHelp(false)} />
    </MinuteContext.Provider>
  );
}

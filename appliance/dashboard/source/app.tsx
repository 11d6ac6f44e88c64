// SPDX-License-Identifier: BSD-3-Clause
// The page frame around the views.
import { useEffect, useState } from "preact/hooks";
import { Header } from "./parts/header";
import { useFreshness } from "./parts/freshness";
import { Guard } from "./parts/guard";
import { KeyHelp, useKeys } from "./parts/keys";
import { choose, kViews, useRoute } from "./parts/route";
import { useTheme } from "./parts/theme";
import { Search } from "./search/search";
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
  const isOld = useFreshness()?.isOld ?? false;
  const [search, setSearch] = useState(false);
  useKeys({
    search: () => {
      setHelp(false);
      setSearch(true);
    },
    showHelp: () => setHelp(true),
    escape: () => {
      if (search) setSearch(false);
      else if (help) setHelp(false);
      else if (route.view === "fabric") choose(route, { at: "", from: "", to: "", dependents: "" });
      else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    },
  });
  const title = kViews.find((view) => view.name === route.view)?.title ?? "";
  useEffect(() => {
    document.title = `${route.name ? `${route.name} – ` : ""}${title} – rocescope`;
    window.scrollTo(0, 0);
  }, [title, route.name]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault(); // the URL fragment is used for the view
        document.getElementById("main")?.focus();
      }}>Skip to content</a>
      <Header route={route} theme={theme} onToggleTheme={toggleTheme} onSearch={() => setSearch(true)} onHelp={() => setHelp(true)} />
      <main id="main" class={isOld ? "old-data" : ""} tabIndex={-1}>
        <Guard key={route.view}>
          {route.view === "overview" && <OverviewView route={route} />}
          {route.view === "fabric" && <FabricView route={route} theme={theme} />}
          {route.view === "jobs" && <JobsView route={route} theme={theme} />}
          {route.view === "paths" && <PathsView route={route} />}
          {route.view === "hotspots" && <HotspotsView route={route} />}
          {route.view === "findings" && <FindingsView route={route} />}
          {route.view === "sources" && <SourcesView theme={theme} />}
        </Guard>
      </main>
      <Search open={search} onClose={() => setSearch(false)} />
      <KeyHelp open={help} onClose={() => setHelp(false)} />
    </>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// The map of the fabric with the paths between two ends, below the list of faults.
import { useMemo, useState } from "preact/hooks";
import type {
  FindPathsResponse, ListFindingsResponse, ListHotspotsResponse, ListLinkLoadsResponse, Topology,
} from "../api/messages";
import {
  aggregate, colourShown, groupsOf, hostCount, kMaxUngroupedHosts, nodesOf, shownElement, shownMarks, shownPath, wholeElement,
} from "../fabric/aggregate";
import { BusiestLinks } from "../fabric/busiest_links";
import { Dependents } from "../fabric/dependents";
import { ElementPanel, findingsAt } from "../fabric/element_panel";
import { GroupBar, GroupPanel, kAllOpen, openNames, withGroup } from "../fabric/group_bar";
import { HeatMap } from "../fabric/heat_map";
import { Legend } from "../fabric/legend";
import { colour, indexLoads } from "../fabric/loads";
import { LinkSection } from "../fabric/link_section";
import { FabricMap } from "../fabric/map";
import { collectMarks } from "../fabric/marks";
import { kMetrics, metricNamed } from "../fabric/metrics";
import { buildFabric, linkName, nodeOfPort, resolvePlace, type Element, type Fabric } from "../fabric/model";
import { endsOfHost, linksOfPaths } from "../fabric/path_links";
import { Overview } from "../fabric/overview";
import { PathPanel } from "../fabric/path_panel";
import { kMaxPageSize } from "../api/whole_list";
import { nsBetween, toNs, utcTime } from "../format/moments";
import { duration } from "../format/quantities";
import { Absence, Await, Notice, Truncated } from "../parts/await";
import { FindingStrip } from "../parts/finding_strip";
import { choose, tableInUrl, type Route } from "../parts/route";
import { areWaiting, useResource, useShared } from "../store/use_store";

interface Props {
  route: Route;
  theme: string;
}

// On a running appliance, hotspots that ended earlier than this are not marked.
const kHotspotMarkNs = 60_000_000_000n;

function pathOfEnds(from: string, to: string): string {
  if (!from || !to) return "";
  const query = { source: from, destination: to, page_size: String(kMaxPageSize) };
  return `/api/v1/paths?${new URLSearchParams(query)}`;
}

function windowText(loads: ListLinkLoadsResponse | undefined): string {
  if (!loads) return ""; // the notice about the request says why
  if (!loads.end_time) return "No analysis window is complete yet.";
  const length = duration(nsBetween(loads.start_time, loads.end_time));
  return `Window of ${length} until ${utcTime(loads.end_time)} UTC.`;
}

function MapAndTables({ fabric, route, theme }: Props & { fabric: Fabric }) {
  const { store } = useShared();
  const [pointed, setPointed] = useState<Element>(); // on the map, which can be a group
  const links = useResource<ListLinkLoadsResponse>("/api/v1/links");
  const hotspots = useResource<ListHotspotsResponse>("/api/v1/hotspots?page_size=100");
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const { by = "", from = "", to = "", at = "", dependents = "" } = route.query;
  const paths = useResource<FindPathsResponse>(pathOfEnds(from, to));

  const { open = "" } = route.query;

  const metric = metricNamed(by);
  const loads = useMemo(() => indexLoads(links.value), [links.value]);
  const colouring = useMemo(() => colour(fabric, loads, metric), [fabric, loads, metric]);
  const marks = useMemo(() => {
    const reached = toNs(hotspots.value?.snapshot?.data_time) ?? 0n;
    const since = store.source.live && reached > kHotspotMarkNs ? reached - kHotspotMarkNs : 0n;
    return collectMarks(
      fabric, findings.value?.findings ?? [], hotspots.value?.hotspots ?? [], since, store.source.live,
    );
  }, [fabric, findings.value, hotspots.value]);
  const path = useMemo(
    () => (paths.value ? linksOfPaths(fabric, paths.value.paths) : undefined),
    [fabric, paths.value],
  );
  const selected = useMemo(() => resolvePlace(fabric, at), [fabric, at]);
  const ends = [from, to].flatMap((end) => fabric.nodeByName.get(nodeOfPort(end)) ?? []);
  const groups = useMemo(() => (hostCount(fabric) > kMaxUngroupedHosts ? groupsOf(fabric) : []), [fabric]);
  const map = useMemo(() => {
    // What is selected must be visible.
    const needed = new Set([...ends, ...nodesOf(fabric, selected)]);
    const names = new Set(openNames(open));
    return aggregate(fabric, groups, (group) => open === kAllOpen || names.has(group.name) || group.nodes.some((node) => needed.has(node)));
  }, [fabric, groups, open, selected, ends.join()]);
  const mapColouring = useMemo(() => colourShown(map, colouring), [map, colouring]);
  const mapMarks = useMemo(() => shownMarks(map, fabric, marks), [map, marks]);
  const mapPath = useMemo(() => path && shownPath(map, path), [map, path]);
  const hover = wholeElement(map, colouring.values, pointed);
  const pointedGroup = pointed?.kind === "node" ? map.groupOf.get(pointed.node) : undefined;
  const selectedLink = selected?.kind === "link" ? fabric.links[selected.link] : undefined;
  const linkSection = useMemo(
    () => selectedLink && <LinkSection link={selectedLink} findings={findingsAt(fabric, findings.value?.findings ?? [], selected)} route={route} theme={theme} />,
    [fabric, selectedLink, findings.value, route, theme],
  );
  const shown = hover ?? selected;
  // Memoised: a scan of all link directions takes longer than a frame.
  const tables = useMemo(
    () => <BusiestLinks fabric={fabric} loads={loads} metric={metric} theme={theme} state={tableInUrl(route)} />,
    [fabric, loads, metric, theme, route],
  );

  const selectShown = (element: Element | undefined) => {
    const group = element?.kind === "node" ? map.groupOf.get(element.node) : undefined;
    if (!group) return select(wholeElement(map, colouring.values, element));
    setPointed(undefined); // the map has other nodes then
    choose(route, { open: withGroup(open, group.name) });
  };
  const select = (element: Element | undefined) => {
    const node = element?.kind === "node" ? fabric.nodes[element.node] : undefined;
    const link = element?.kind === "link" ? fabric.links[element.link] : undefined;
    const end = node && node.tier === "host" ? endsOfHost(fabric, node.index)[0] : undefined;
    const chosen = { at: node?.name ?? (link ? linkName(link) : ""), dependents: "" };
    if (!end) choose(route, chosen);
    else if (!from || to) choose(route, { ...chosen, from: end, to: "" });
    else if (nodeOfPort(from) === node?.name) choose(route, { ...chosen, from: "" });
    else choose(route, { ...chosen, to: end });
  };

  return (
    <>
      <div class="toolbar">
        <fieldset class="switch">
          <legend>Colour links by</legend>
          {kMetrics.map((candidate) => (
            <label key={candidate.name}>
              <input
                type="radio" name="metric" checked={candidate === metric}
                onChange={() => choose(route, { by: candidate.name })}
              />
              <span>{candidate.title}</span>
            </label>
          ))}
        </fieldset>
        <Legend colouring={colouring} metric={metric} />
      </div>
      <GroupBar groups={groups} open={open} onChange={(names) => choose(route, { open: names })} />
      {links.value === undefined && links.status !== "waiting" && <Absence resource={links} what="link loads" />}
      {hotspots.value === undefined && hotspots.status !== "waiting" && <Absence resource={hotspots} what="hotspots" />}
      {links.value && <Truncated shown={links.value.link_loads.length} total={links.value.total_size} />}
      {at && !selected && <Notice kind="caution" title={`${at} is not in the topology`} />}
      <PathPanel fabric={fabric} from={from} to={to} paths={paths} onChoose={(changes) => choose(route, changes)} />
      <div class="map-and-panel">
        <FabricMap
          fabric={map.fabric} colouring={mapColouring} marks={mapMarks} ends={ends.map((end) => map.shownNode[end] as number)} path={mapPath} theme={theme}
          hover={pointed} selected={shownElement(map, fabric, selected)} onHover={setPointed} onSelect={selectShown}
        />
        <aside class="panel" aria-label="Details of the selected element" aria-live="polite">
          {links.status === "waiting" && <Absence resource={links} what="link loads" />}
          {pointedGroup ? (
            <GroupPanel group={pointedGroup} fabric={fabric} loads={loads} windowText={windowText(links.value)} />
          ) : shown ? (
            <ElementPanel
              fabric={fabric} loads={loads} findings={findings.value?.findings ?? []}
              element={shown} windowText={windowText(links.value)}
            />
          ) : (
            <Overview fabric={fabric} loads={loads} marks={marks} windowText={windowText(links.value)} />
          )}
        </aside>
      </div>
      {at && dependents && selected && <Dependents element={at} />}
      {linkSection}
      <HeatMap fabric={fabric} colouring={colouring} metric={metric} theme={theme} />
      {tables}
    </>
  );
}

export function FabricView({ route, theme }: Props) {
  const topology = useResource<Topology>("/api/v1/topology");
  const fabric = useMemo(() => topology.value && buildFabric(topology.value), [topology.value]);
  const findings = useResource<ListFindingsResponse>("/api/v1/findings"); // their list would move the map down
  if (areWaiting(topology, findings)) {
    return <><h1 class="unseen">Fabric</h1><p class="loading" role="status">Loading the fabric …</p></>;
  }
  return (
    <>
      <h1 class="unseen">Fabric</h1>
      <FindingStrip />
      <Await resource={topology} what="topology">
        {() => fabric && <MapAndTables fabric={fabric} route={route} theme={theme} />}
      </Await>
    </>
  );
}

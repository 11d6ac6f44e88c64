// SPDX-License-Identifier: BSD-3-Clause
// The details of the hovered, focused or selected element: both directions of a link, or the busiest
// ports of a node.
import type { ComponentChildren } from "preact";
import type { Finding, LinkLoad } from "../api/messages";
import { hrefOfFinding } from "../findings/finding_id";
import { bitRate, bytes, count, duration, percent } from "../format/quantities";
import { enumWords } from "../format/words";
import { DependentsLink } from "./dependents";
import { bitsPerSecond, type Loads } from "./loads";
import { linkName, otherEnd, resolvePlace, type Element, type Fabric, type FabricNode } from "./model";

interface Props {
  fabric: Fabric;
  loads: Loads;
  findings: Finding[];
  element: Element;
  windowText: string;
}

type Figure = [string, (fabric: Fabric, load: LinkLoad, windowNs: number) => ComponentChildren];

const kFigures: Figure[] = [
  ["utilisation", (_, load) => (load.utilization === undefined ? "unknown" : percent(load.utilization))],
  ["rate", (fabric, load) => {
    const rate = bitsPerSecond(fabric, load);
    return rate === undefined ? "unknown" : bitRate(rate);
  }],
  ["source", (_, load) => enumWords(load.source) || "–"],
  ["CE marks", (_, load) => count(load.ce_marked_packets)],
  ["dropped", (_, load) => count(load.dropped_packets)],
  ["paused", (_, load) => duration(load.paused_duration)],
  ["peak queue", (_, load) => (load.peak_queue_bytes === undefined ? "not reported" : bytes(load.peak_queue_bytes))],
  ["errors", (_, load) => count(load.error_frames)],
];

function LinkNumbers({ fabric, loads, link }: { fabric: Fabric; loads: Loads; link: number }) {
  const { portA, portB, bitsPerSecond: speed } = fabric.links[link] ?? { portA: "", portB: "", bitsPerSecond: 0 };
  const ends = [loads.byPort.get(portA), loads.byPort.get(portB)];
  return (
    <>
      <h2>{portA} – {portB}</h2>
      <p class="muted">{bitRate(speed)} each way</p>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col"><span class="unseen">metric</span></th>
            <th scope="col" class="number">{portA} sends</th>
            <th scope="col" class="number">{portB} sends</th>
          </tr>
        </thead>
        <tbody>
          {kFigures.map(([title, text]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              {ends.map((load, i) => (
                <td key={i} class="number">{load ? text(fabric, load, loads.windowNs) : "unknown"}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

const kPortsShown = 8;

function NodeNumbers({ fabric, loads, node }: { fabric: Fabric; loads: Loads; node: FabricNode }) {
  const ports = node.links.map((at) => {
    const link = fabric.links[at];
    return (link?.a === node.index ? link?.portA : link?.portB) ?? "";
  });
  const utilization = (port: string | undefined) => loads.byPort.get(port ?? "")?.utilization ?? -1;
  const text = (value: number) => (value < 0 ? "–" : percent(value));
  const rows = ports.map((port) => ({ port, out: utilization(port), into: utilization(otherEnd(fabric, port)) }));
  rows.sort((a, b) => Math.max(b.out, b.into) - Math.max(a.out, a.into));
  const facts = [
    node.tier,
    node.pod !== undefined ? `pod ${node.pod}` : "",
    `${node.links.length} links`,
    node.gpus.length > 0 ? `${node.gpus.length} GPUs` : "",
  ];
  return (
    <>
      <h2>{node.name}</h2>
      <p class="muted">{facts.filter(Boolean).join(" · ")}</p>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">busiest ports</th>
            <th scope="col" class="number">sends</th>
            <th scope="col" class="number">receives</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, kPortsShown).map((row) => (
            <tr key={row.port}>
              <th scope="row" title={`to ${otherEnd(fabric, row.port)}`}>{row.port}</th>
              <td class="number">{text(row.out)}</td>
              <td class="number">{text(row.into)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function same(a: Element | undefined, b: Element): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function findingsAt(fabric: Fabric, findings: Finding[], element: Element | undefined): Finding[] {
  return element ? findings.filter((finding) => same(resolvePlace(fabric, finding.place), element)) : [];
}

export function ElementPanel({ fabric, loads, findings, element, windowText }: Props) {
  const node = element.kind === "node" ? fabric.nodes[element.node] : undefined;
  const link = element.kind === "link" ? fabric.links[element.link] : undefined;
  const here = findingsAt(fabric, findings, element);
  return (
    <div>
      {node && <NodeNumbers fabric={fabric} loads={loads} node={node} />}
      {link && <LinkNumbers fabric={fabric} loads={loads} link={link.index} />}
      {here.map((finding) => (
        <p key={finding.sentence} class="fault-line"><a href={hrefOfFinding(finding)}>{finding.sentence}</a></p>
      ))}
      <p class="muted">{windowText}</p>
      <DependentsLink element={node?.name ?? (link ? linkName(link) : "")} text="Show dependents" />
    </div>
  );
}

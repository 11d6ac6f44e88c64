// SPDX-License-Identifier: BSD-3-Clause
// The groups of a large fabric: which are open on the map, and a summary of the one under the pointer.
import { percent, plural } from "../format/quantities";
import type { Group } from "./aggregate";
import type { Loads } from "./loads";
import { naturally, type Fabric } from "./model";

export const kAllOpen = "all";

// A name cannot contain a semicolon; the names of racks contain commas.
export function openNames(open: string): string[] {
  return open.split(";").filter(Boolean);
}

export function withGroup(open: string, name: string): string {
  return [...new Set([...openNames(open), name])].sort(naturally).join(";");
}

interface BarProps {
  groups: Group[];
  open: string; // from the URL: names, or "all"
  onChange(open: string): void;
}

export function GroupBar({ groups, open, onChange }: BarProps) {
  if (groups.length === 0) return null;
  const names = openNames(open);
  const noun = groups[0]?.name.startsWith("pod ") ? "pod" : "rack";
  return (
    <div class="group-bar">
      <span>{open === kAllOpen ? `All ${plural(groups.length, noun)} are open.` : `${plural(groups.length, noun)}. Choose one on the map or here to open it.`}</span>
      {open !== kAllOpen && (
        <label>
          <span class="unseen">Open a {noun}</span>
          <select value="" onChange={(event) => onChange(withGroup(open, event.currentTarget.value))}>
            <option value="">Open {noun} …</option>
            {groups.map(({ name }) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
      {open !== kAllOpen && names.map((name) => (
        <button key={name} type="button" class="small" aria-label={`Close ${name}`} onClick={() => onChange(names.filter((other) => other !== name).join(";"))}>{name} ✕</button>
      ))}
      {open !== kAllOpen && <button type="button" onClick={() => onChange(kAllOpen)}>Open all</button>}
      {open !== "" && <button type="button" onClick={() => onChange("")}>Close all</button>}
    </div>
  );
}

const kPortsShown = 8;

export function GroupPanel({ group, fabric, loads, windowText }: { group: Group; fabric: Fabric; loads: Loads; windowText: string }) {
  const tiers = new Map<string, number>();
  const ports: { port: string; value: number }[] = [];
  for (const index of group.nodes) {
    const node = fabric.nodes[index];
    if (!node) continue;
    tiers.set(node.tier, (tiers.get(node.tier) ?? 0) + 1);
    for (const at of node.links) {
      const link = fabric.links[at];
      const port = link && (link.a === index ? link.portA : link.portB);
      const value = port && loads.byPort.get(port)?.utilization;
      if (port && value !== undefined && value !== "") ports.push({ port, value });
    }
  }
  ports.sort((a, b) => b.value - a.value);
  return (
    <div>
      <h2>{group.name}</h2>
      <p class="muted">{[...tiers].map(([tier, nodes]) => plural(nodes, tier)).join(" · ")}</p>
      <table class="numbers">
        <thead>
          <tr><th scope="col">busiest ports</th><th scope="col" class="number">sends</th></tr>
        </thead>
        <tbody>
          {ports.slice(0, kPortsShown).map(({ port, value }) => (
            <tr key={port}><th scope="row">{port}</th><td class="number">{percent(value)}</td></tr>
          ))}
        </tbody>
      </table>
      {ports.length === 0 && <p class="muted">No load is known.</p>}
      <p class="muted">{windowText}</p>
    </div>
  );
}

// SPDX-License-Identifier: BSD-3-Clause
// What stands beside the map while nothing is chosen: how large the fabric is, how much of it is
// known, and a list of what is marked on it.
import { count, plural } from "../format/quantities";
import { Place, Tag } from "../parts/names";
import type { Mark } from "./draw";
import type { Loads } from "./loads";
import { linkName, type Fabric } from "./model";

interface Props {
  fabric: Fabric;
  loads: Loads;
  marks: Mark[];
  windowText: string;
}

const kMarksShown = 12;

function size(fabric: Fabric): string {
  const tiers = new Map<string, number>();
  for (const node of fabric.nodes) tiers.set(node.tier, (tiers.get(node.tier) ?? 0) + 1);
  const gpus = fabric.nodes.reduce((sum, node) => sum + node.gpus.length, 0);
  const parts = [...tiers].map(([tier, nodes]) => `${nodes} ${tier}`);
  return [...parts, plural(gpus, "GPU"), plural(fabric.links.length, "link")].join(" · ");
}

export function Overview({ fabric, loads, marks, windowText }: Props) {
  const known = [...loads.byPort.values()].filter((load) => load.use >= 0).length;
  return (
    <div>
      <h2>{fabric.name || "Fabric"}</h2>
      <p>{size(fabric)}</p>
      <p>Load is known of {plural(known, "direction")} of {count(fabric.links.length * 2)}.</p>
      <p class="muted">{windowText}</p>
      {marks.length > 0 && (
        <ul class="mark-list" aria-label="Marked on the map">
          {marks.slice(0, kMarksShown).map((mark) => {
            const { element } = mark;
            const link = element.kind === "link" ? fabric.links[element.link] : undefined;
            const name = element.kind === "node" ? fabric.nodes[element.node]?.name : link && linkName(link);
            return (
              <li key={name}>
                <Tag kind={mark.fault ? "fault" : "hot"} text={mark.label} /> <Place name={name ?? ""} />
              </li>
            );
          })}
          {marks.length > kMarksShown && <li class="muted">and {marks.length - kMarksShown} more</li>}
        </ul>
      )}
      <p class="muted">
        Point at a node or link for its numbers. Choose a host, then another one, for the paths between them.
      </p>
    </div>
  );
}

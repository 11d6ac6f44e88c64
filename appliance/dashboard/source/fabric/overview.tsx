// SPDX-License-Identifier: BSD-3-Clause
// The panel while nothing is selected: the size of the fabric, how many loads are known, and the
// marked elements.
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
  const known = [...loads.byPort.values()].filter((load) => load.utilization !== undefined).length;
  return (
    <div>
      <h2>{fabric.name || "Fabric"}</h2>
      <p>{size(fabric)}</p>
      <p>The load of {count(known)} of {plural(fabric.links.length * 2, "link direction")} is known.</p>
      <p class="muted">{windowText}</p>
      {marks.length > 0 && (
        <ul class="mark-list" aria-label="Marked elements">
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
        Hover over a node or link to show its metrics. Select two hosts to show the paths between them.
      </p>
    </div>
  );
}

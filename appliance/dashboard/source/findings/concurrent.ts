// SPDX-License-Identifier: BSD-3-Clause
// Matches anomalies to findings by place and time, because the API does not report which anomalies a finding explains.
import type { Anomaly, Finding } from "../api/messages";
import { toNs } from "../format/moments";

// The names of a finding's place, of its direction, and of the nodes and ports at its ends.
function placesOf({ place, direction, loop_ports: ports }: Finding): Set<string> {
  const places = new Set([place, direction, ...ports, ...place.split("-")]);
  // A name can contain a hyphen: any prefix and suffix may be an end.
  for (let at = place.indexOf("-"); at >= 0; at = place.indexOf("-", at + 1)) {
    places.add(place.slice(0, at)).add(place.slice(at + 1));
  }
  places.delete("");
  return places;
}

function isAtTheTimeOf(anomaly: Anomaly, finding: Finding): boolean {
  const [start, end] = [toNs(finding.start_time), toNs(finding.end_time)];
  const [from, until] = [toNs(anomaly.start_time), toNs(anomaly.end_time)];
  if (start === undefined || from === undefined || until === undefined) return false;
  return until >= start && (end === undefined || from <= end);
}

export function isConcurrent(anomaly: Anomaly, finding: Finding): boolean {
  return placesOf(finding).has(anomaly.place) && isAtTheTimeOf(anomaly, finding);
}

export interface Grouped {
  byFinding: { finding: Finding; anomalies: Anomaly[] }[]; // in the order of the findings; none is empty
  rest: Anomaly[];
}

// Assigns each anomaly to the first finding at its place and time.
export function groupByFinding(anomalies: Anomaly[], findings: Finding[]): Grouped {
  const groups = new Map<Finding, Anomaly[]>(findings.map((finding) => [finding, []]));
  const atPlace = new Map<string, Finding[]>();
  for (const finding of findings) {
    for (const place of placesOf(finding)) {
      const known = atPlace.get(place);
      if (known) known.push(finding);
      else atPlace.set(place, [finding]);
    }
  }
  const rest: Anomaly[] = [];
  for (const anomaly of anomalies) {
    const finding = atPlace.get(anomaly.place)?.find((one) => isAtTheTimeOf(anomaly, one));
    (finding ? groups.get(finding)! : rest).push(anomaly);
  }
  const byFinding = [...groups].filter(([, own]) => own.length > 0).map(([finding, own]) => ({ finding, anomalies: own }));
  return { byFinding, rest };
}

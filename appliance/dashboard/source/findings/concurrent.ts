// SPDX-License-Identifier: BSD-3-Clause
// Which anomalies are at the place and time of a finding. The API does not say which anomalies a finding explains, so
// this compares places and times only.
import type { Anomaly, Finding } from "../api/messages";
import { toNs } from "../format/moments";

export function isConcurrent(anomaly: Anomaly, finding: Finding): boolean {
  const places = [finding.place, finding.direction, ...finding.loop_ports];
  const isHere = places.includes(anomaly.place) || finding.place.split("-").includes(anomaly.place) ||
    finding.place.startsWith(`${anomaly.place}-`) || finding.place.endsWith(`-${anomaly.place}`);
  const [start, end] = [toNs(finding.start_time), toNs(finding.end_time)];
  const [from, until] = [toNs(anomaly.start_time), toNs(anomaly.end_time)];
  if (!isHere || start === undefined || from === undefined || until === undefined) return false;
  return until >= start && (end === undefined || from <= end);
}

export interface Grouped {
  byFinding: { finding: Finding; anomalies: Anomaly[] }[]; // in the order of the findings; none is empty
  rest: Anomaly[];
}

// Assigns each anomaly to the first finding at its place and time.
export function groupByFinding(anomalies: Anomaly[], findings: Finding[]): Grouped {
  const groups = new Map<Finding, Anomaly[]>(findings.map((finding) => [finding, []]));
  const rest: Anomaly[] = [];
  for (const anomaly of anomalies) {
    const finding = findings.find((one) => isConcurrent(anomaly, one));
    (finding ? groups.get(finding)! : rest).push(anomaly);
  }
  const byFinding = [...groups].filter(([, own]) => own.length > 0).map(([finding, own]) => ({ finding, anomalies: own }));
  return { byFinding, rest };
}

// SPDX-License-Identifier: BSD-3-Clause
// The message for "no faults found". How much that means depends on the available telemetry.
import type { DiagnosisCoverage } from "../api/messages";
import { kObstacles, words } from "../format/words";

export interface Verdict {
  title: string;
  sure: boolean; // the absence of findings is meaningful
  reasons: string[];
}

function part(told: number, of: number, what: string): string {
  if (of === 0) return "";
  if (told === 0) return `None of ${of} ${what} reported counters.`;
  return told < of ? `Only ${told} of ${of} ${what} reported counters.` : "";
}

export function nothingFound(coverage: DiagnosisCoverage | undefined): Verdict {
  if (!coverage) {
    return {
      title: "Fault diagnosis did not run.",
      sure: false,
      reasons: ["It requires a topology and telemetry of at least one analysis window."],
    };
  }
  const reasons = [
    part(coverage.switches, coverage.switches_of, "switches"),
    part(coverage.nics, coverage.nics_of, "NICs"),
    part(coverage.gpus, coverage.gpus_of, "GPUs"),
  ].filter(Boolean);
  if (coverage.obstacle) {
    const sentence = kObstacles[coverage.obstacle] ?? `Fault diagnosis is limited: ${words(coverage.obstacle)}.`;
    return { title: sentence, sure: false, reasons };
  }
  if (coverage.windows === "0" && coverage.flows === "0") {
    return { title: "There is no telemetry to diagnose faults with.", sure: false, reasons };
  }
  if (coverage.given_up) {
    return { title: `No faults found, but ${coverage.given_up}.`, sure: false, reasons };
  }
  const blind = coverage.not_seen.length;
  if (blind > 0) {
    const kinds = blind === 1 ? "one fault type is" : `${blind} fault types are`;
    return { title: `No faults found; ${kinds} not detectable with this telemetry.`, sure: true, reasons };
  }
  return { title: "No faults found. All known fault types are detectable with this telemetry.", sure: true, reasons };
}

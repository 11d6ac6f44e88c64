// SPDX-License-Identifier: BSD-3-Clause
// What to say where no fault was found: what there was to see decides how much that means.
import type { DiagnosisCoverage } from "../api/messages";
import { kObstacles, words } from "../format/words";

export interface Verdict {
  title: string;
  sure: boolean; // it says something that nothing was found
  reasons: string[];
}

function part(told: number, of: number, what: string): string {
  if (of === 0) return "";
  if (told === 0) return `None of ${of} ${what} told counters.`;
  return told < of ? `Only ${told} of ${of} ${what} told counters.` : "";
}

export function nothingFound(coverage: DiagnosisCoverage | undefined): Verdict {
  if (!coverage) {
    return {
      title: "No fault was looked for.",
      sure: false,
      reasons: ["Without a topology, or before the first answer, there is no place to look at."],
    };
  }
  const reasons = [
    part(coverage.switches, coverage.switches_of, "switches"),
    part(coverage.nics, coverage.nics_of, "NICs"),
    part(coverage.gpus, coverage.gpus_of, "GPUs"),
  ].filter(Boolean);
  if (coverage.obstacle) {
    const sentence = kObstacles[coverage.obstacle] ?? `Hindered by: ${words(coverage.obstacle)}.`;
    return { title: sentence, sure: false, reasons };
  }
  if (coverage.windows === "0" && coverage.flows === "0") {
    return { title: "Nothing was there to find faults by.", sure: false, reasons };
  }
  if (coverage.given_up) {
    return { title: `No fault found, but ${coverage.given_up}.`, sure: false, reasons };
  }
  const blind = coverage.not_seen.length;
  if (blind > 0) {
    const kinds = blind === 1 ? "one kind of fault" : `${blind} kinds of faults`;
    return { title: `No fault found; ${kinds} could not have been.`, sure: true, reasons };
  }
  return { title: "No fault found, with telemetry for every known kind.", sure: true, reasons };
}

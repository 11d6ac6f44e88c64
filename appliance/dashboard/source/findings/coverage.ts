// SPDX-License-Identifier: BSD-3-Clause
// The message for "no faults found". How much that means depends on the available telemetry.
import type { DiagnosisCoverage } from "../api/messages";
import { obstacleText } from "../format/words";

export interface NoFindings {
  title: string;
  conclusive: boolean; // the absence of findings is meaningful
  reasons: string[];
}

function missingCounters(reporting: number, total: number, what: string): string {
  if (total === 0) return "";
  if (reporting === 0) return `None of ${total} ${what} reported counters.`;
  return reporting < total ? `Only ${reporting} of ${total} ${what} reported counters.` : "";
}

export function nothingFound(coverage: DiagnosisCoverage | undefined): NoFindings {
  if (!coverage) {
    return {
      title: "Fault diagnosis did not run.",
      conclusive: false,
      reasons: ["It requires a topology and telemetry of at least one analysis window."],
    };
  }
  const reasons = [
    missingCounters(coverage.reporting_switch_count, coverage.total_switch_count, "switches"),
    missingCounters(coverage.reporting_nic_count, coverage.total_nic_count, "NICs"),
    missingCounters(coverage.reporting_gpu_count, coverage.total_gpu_count, "GPUs"),
  ].filter(Boolean);
  const obstacle = obstacleText(coverage.obstacle);
  if (obstacle) {
    return { title: obstacle, conclusive: false, reasons };
  }
  if (coverage.window_count === "0" && coverage.flow_count === "0") {
    return { title: "There is no telemetry to diagnose faults with.", conclusive: false, reasons };
  }
  if (coverage.dropped_records_note) {
    return { title: `No faults found, but ${coverage.dropped_records_note}.`, conclusive: false, reasons };
  }
  const undetectable = coverage.undetectable_kinds.length;
  if (undetectable > 0) {
    const kinds = undetectable === 1 ? "one fault type is" : `${undetectable} fault types are`;
    return { title: `No faults found; ${kinds} not detectable with this telemetry.`, conclusive: true, reasons };
  }
  return { title: "No faults found. All known fault types are detectable with this telemetry.", conclusive: true, reasons };
}

// SPDX-License-Identifier: BSD-3-Clause
// One fault, with the most urgent information first.
import type { Finding, Suspect } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { duration } from "../format/quantities";
import { words } from "../format/words";
import { Moment, Place, Share } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { Chain } from "./chain";
import { FindingState, isOngoing } from "./finding_state";

interface Props {
  finding: Finding;
  reference: Reference;
  open: boolean;
}

const kAlternativeColumns: Column<Suspect>[] = [
  { title: "alternative", cell: (suspect) => words(suspect.kind) },
  { title: "place", cell: (suspect) => <Place name={suspect.place} /> },
  { title: "direction", cell: (suspect) => suspect.direction || "–" },
  { title: "probability", numeric: true, cell: (suspect) => <Share value={suspect.probability} /> },
];

function Times({ finding, reference }: { finding: Finding; reference: Reference }) {
  return (
    <span class="muted">
      started <Moment time={finding.start_time} reference={reference} />
      {finding.end_time && <>, for {duration(nsBetween(finding.start_time, finding.end_time))}</>}
      {finding.detection_time && <>, detected after {duration(nsBetween(finding.start_time, finding.detection_time))}</>}
    </span>
  );
}

export function FindingCard({ finding, reference, open }: Props) {
  return (
    <details class={`card finding${isOngoing(finding) ? " finding-ongoing" : ""}`} open={open}>
      <summary data-item="">
        <span class="card-line">
          <FindingState finding={finding} />
          <strong>{finding.sentence}</strong>
        </span>
        <span class="card-line card-facts">
          <span>{words(finding.kind)}</span>
          <Share value={finding.confidence} label="confidence" />
          <Times finding={finding} reference={reference} />
        </span>
      </summary>
      <p class="action"><strong>Recommended action:</strong> {finding.recommended_action}</p>
      <Chain finding={finding} />
      <h2>Evidence, strongest first</h2>
      <ol class="evidence">{finding.evidence.map((sentence) => <li key={sentence}>{sentence}</li>)}</ol>
      {finding.alternatives.length > 0 && (
        <Table caption="Alternative explanations" columns={kAlternativeColumns} rows={finding.alternatives}
          keyOf={(suspect) => `${suspect.kind} ${suspect.place} ${suspect.direction}`} most={8} />
      )}
      {finding.missing_telemetry.length > 0 && (
        <p>Missing telemetry that would distinguish them: {finding.missing_telemetry.join("; ")}.</p>
      )}
    </details>
  );
}

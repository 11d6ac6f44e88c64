// SPDX-License-Identifier: BSD-3-Clause
// One fault, with the most urgent information first.
import type { Finding, Suspect } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { duration } from "../format/quantities";
import { words } from "../format/words";
import { Moment, Place, Share, Tag } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { Chain } from "./chain";

interface Props {
  finding: Finding;
  reference: Reference;
  open: boolean;
}

const kRivalColumns: Column<Suspect>[] = [
  { title: "alternative", cell: (rival) => words(rival.kind) },
  { title: "place", cell: (rival) => <Place name={rival.place} /> },
  { title: "direction", cell: (rival) => rival.direction || "–" },
  { title: "probability", numeric: true, cell: (rival) => <Share value={rival.probability} /> },
];

function Times({ finding, reference }: { finding: Finding; reference: Reference }) {
  const lasts = finding.until_ns === "0";
  return (
    <span class="muted">
      started <Moment ns={finding.from_ns} reference={reference} />
      {!lasts && <>, for {duration(nsBetween(finding.from_ns, finding.until_ns))}</>}
      {finding.detected_ns !== "0" && <>, detected after {duration(nsBetween(finding.from_ns, finding.detected_ns))}</>}
    </span>
  );
}

export function FindingCard({ finding, reference, open }: Props) {
  const lasts = finding.until_ns === "0";
  return (
    <details class={`card finding${lasts ? " finding-lasts" : ""}`} open={open}>
      <summary data-item="">
        <span class="card-line">
          <Tag kind={lasts ? "fault" : "over"} text={lasts ? "active" : "resolved"} />
          <strong>{finding.sentence}</strong>
        </span>
        <span class="card-line card-facts">
          <span>{words(finding.kind)}</span>
          <Share value={finding.confidence} label="confidence" />
          <Times finding={finding} reference={reference} />
        </span>
      </summary>
      <p class="remedy"><strong>Recommended action:</strong> {finding.recommended_action}</p>
      <Chain finding={finding} />
      <h2>Evidence, strongest first</h2>
      <ol class="evidence">{finding.evidence.map((sentence) => <li key={sentence}>{sentence}</li>)}</ol>
      {finding.alternatives.length > 0 && (
        <Table caption="Alternative explanations" columns={kRivalColumns} rows={finding.alternatives}
          keyOf={(rival) => `${rival.kind} ${rival.place} ${rival.direction}`} most={8} />
      )}
      {finding.further.length > 0 && (
        <p>To distinguish them: {finding.further.join("; ")}.</p>
      )}
    </details>
  );
}

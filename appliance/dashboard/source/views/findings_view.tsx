// SPDX-License-Identifier: BSD-3-Clause
// The faults, or how meaningful their absence is.
import type { Finding, ListAnomaliesResponse, ListFindingsResponse } from "../api/messages";
import { AnomalyList } from "../findings/anomaly_list";
import { CoveragePanel } from "../findings/coverage_panel";
import { nothingFound } from "../findings/coverage";
import { EventList } from "../findings/event_list";
import { FindingCard } from "../findings/finding_card";
import { Await, Notice, Truncated } from "../parts/await";
import { useReference } from "../parts/reference";
import { useResource } from "../store/use_store";

function NothingFound({ answer }: { answer: ListFindingsResponse }) {
  const { conclusive, title, reasons } = nothingFound(answer.coverage);
  return (
    <Notice kind={conclusive ? "empty" : "caution"} title={title}>
      {reasons.map((reason) => <p key={reason}>{reason}</p>)}
    </Notice>
  );
}

function Suspected({ findings }: { findings: Finding[] }) {
  const reference = useReference();
  if (findings.length === 0) return null;
  return (
    <section aria-labelledby="suspected-title">
      <h2 id="suspected-title">Suspected faults</h2>
      <p>Each is more likely wrong than right. Verify it before you act.</p>
      {findings.map((finding) => (
        <FindingCard
          key={`${finding.kind} ${finding.place} ${finding.start_time}`}
          finding={finding} reference={reference} open={false}
        />
      ))}
    </section>
  );
}

export function FindingsView() {
  const answer = useResource<ListFindingsResponse>("/api/v1/findings");
  const anomalies = useResource<ListAnomaliesResponse>("/api/v1/anomalies");
  const reference = useReference();
  return (
    <>
      <h1>Findings</h1>
      <Await resource={answer} what="findings">
        {(value) => (
          <>
            {value.findings.length === 0 && <NothingFound answer={value} />}
            {value.findings.map((finding, i) => (
              <FindingCard
                key={`${finding.kind} ${finding.place} ${finding.start_time}`}
                finding={finding} reference={reference} open={i === 0}
              />
            ))}
            <Truncated shown={value.findings.length} total={value.total_size} />
            <Suspected findings={value.suspected_findings} />
            <EventList reference={reference} />
            {value.coverage && <CoveragePanel coverage={value.coverage} />}
          </>
        )}
      </Await>
      <section aria-labelledby="anomalies-title">
        <h2 id="anomalies-title">Anomalies</h2>
        <Await resource={anomalies} what="anomalies">
          {(value) => <AnomalyList answer={value} reference={reference} />}
        </Await>
      </section>
    </>
  );
}

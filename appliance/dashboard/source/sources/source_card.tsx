// SPDX-License-Identifier: BSD-3-Clause
// A source: its ledger, its losses, and its rates since this page was opened.
import type { Ledger, Source } from "../api/messages";
import { bitRate, bytes, count, perSecond } from "../format/quantities";
import { enumWords, words } from "../format/words";
import { Notice } from "../parts/await";
import { Moment, Share, Tag } from "../parts/names";
import { Plot } from "../parts/plot";
import { useApplianceReference } from "../parts/reference";
import { Table, type Column } from "../parts/table";
import type { SourceRates } from "../store/histories";
import { useShared } from "../store/use_store";
import { AgentTable } from "./agent_table";
import { kSourceStates, sourceState } from "./source_state";
import { linesOf, shareOf, type LedgerLine } from "./ledger";

function ledgerColumns(received: bigint): Column<LedgerLine>[] {
  return [
    { title: "result", cell: (line) => words(line.name), sort: (line) => line.name },
    { title: "frames", numeric: true, cell: (line) => count(String(line.count)), sort: (line) => Number(line.count) },
    { title: "share", numeric: true, cell: (line) => <Share value={shareOf(line.count, received)} /> },
    { title: "meaning", cell: (line) => <span class="muted">{line.meaning}</span> },
  ];
}

function LedgerTable({ ledger, name }: { ledger: Ledger; name: string }) {
  return (
    <Table caption={`Ledger of ${name}`} columns={ledgerColumns(BigInt(ledger.received))}
      rows={linesOf(ledger)} keyOf={(line) => line.name} />
  );
}

interface Spark {
  title: string;
  value: (rates: SourceRates) => number;
  text: (value: number) => string;
}

const kSparks: Spark[] = [
  { title: "received", value: (rates) => rates.frames, text: perSecond },
  { title: "bit rate", value: (rates) => rates.bits, text: bitRate },
  { title: "records", value: (rates) => rates.records, text: perSecond },
  { title: "lost", value: (rates) => rates.lost, text: perSecond },
];

function Rates({ name, theme }: { name: string; theme: string }) {
  const { store, histories } = useShared();
  if (!store.source.live) return null;
  const rates = histories.sources.get(name) ?? [];
  const last = rates.at(-1);
  if (!last) return <p class="muted">Rates appear after the next update.</p>;
  return (
    <div class="sparks">
      {kSparks.map((spark) => (
        <div key={spark.title} class="spark">
          <div class="spark-title"><span>{spark.title}</span><strong>{spark.text(spark.value(last))}</strong></div>
          <Plot
            bare label={`${spark.title} of ${name} over time`} theme={theme} height={44} text={spark.text}
            times={rates.map((at) => at.timeS)} series={[{ label: spark.title, values: rates.map(spark.value) }]}
          />
        </div>
      ))}
    </div>
  );
}

export function SourceCard({ source, theme }: { source: Source; theme: string }) {
  const reference = useApplianceReference();
  const id = `source-${source.name.replace(/\W/g, "-")}`; // ids must not contain spaces
  const state = sourceState(source);
  const tag = kSourceStates.find(([one]) => one === state)?.[1] ?? "";
  const lost = Number(source.missed_frames) + Number(source.dropped_records);
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{source.name} <Tag kind={tag} text={state} /> <span class="muted">{enumWords(source.kind)} {source.listen_addresses.join(", ")}</span></h2>
      {source.error && <Notice kind="refused" title="This source has stopped">{source.error}</Notice>}
      {source.problems.map((problem) => <Notice key={problem} kind="caution" title={problem} />)}
      {lost > 0 && (
        <Notice kind="caution" title="Lost telemetry is missing from all results.">
          {source.missed_frames !== "0" && <p>{count(source.missed_frames)} frames were dropped because a kernel or NIC buffer was full.</p>}
          {source.dropped_records !== "0" && <p>{count(source.dropped_records)} records were dropped because the analysis did not keep up.</p>}
        </Notice>
      )}
      <dl class="facts">
        <div><dt>received</dt><dd>{count(source.ledger?.received ?? "0")} frames, {bytes(source.bytes)}</dd></div>
        <div><dt>missed</dt><dd>{count(source.missed_frames)}</dd></div>
        <div><dt>records</dt><dd>{count(source.records)}</dd></div>
        <div><dt>records dropped</dt><dd>{count(source.dropped_records)}</dd></div>
        <div><dt>open flows</dt><dd>{count(source.open_flow_count)}</dd></div>
        <div><dt>last arrival</dt><dd>{source.last_arrival_time ? <Moment time={source.last_arrival_time} reference={reference} /> : "none"}</dd></div>
      </dl>
      <Rates name={source.name} theme={theme} />
      {source.agents.length > 0 && <AgentTable name={source.name} agents={source.agents} reference={reference} />}
      {source.ledger && <LedgerTable ledger={source.ledger} name={source.name} />}
    </section>
  );
}

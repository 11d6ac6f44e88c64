// SPDX-License-Identifier: BSD-3-Clause
// One finding on one screen: what is wrong, since when, which jobs it affects, what to do, and why.
import type { ComponentChildren } from "preact";
import type {
  Anomaly, Event as ApplianceEvent, Finding, ListAnomaliesResponse, ListFindingsResponse, ListJobsResponse,
  ListPastEventsResponse, Suspect,
} from "../api/messages";
import { DependentsLink } from "../fabric/dependents";
import { nsBetween, toNs, utcTime, type Reference } from "../format/moments";
import { count, duration, percent } from "../format/quantities";
import { enumWords, words } from "../format/words";
import { Absence, Notice } from "../parts/await";
import { Export } from "../parts/export";
import { JobLink, Moment, Place, Share, Tag } from "../parts/names";
import { useSource } from "../parts/offered";
import { useReference } from "../parts/reference";
import { href, hrefOfPlace, hrefOfView, type Route } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { minuteAfter, minuteText, urlTime } from "../past/minute";
import { useMinute } from "../past/minute_context";
import { areWaiting, useResource, useShared, type Resource } from "../store/use_store";
import { Changes, useChanges } from "../timeline/changes";
import { Chain } from "./chain";
import { isConcurrent } from "./concurrent";
import { findById, findingKey, hrefOfFinding, occurrences, parseFindingId } from "./finding_id";
import { activeNs } from "./finding_table";
import { stateOf, worstFirst } from "./severity";
import { ReviewPanel } from "./review_panel";
import { SeverityTag, StateTag } from "./severity_tag";
import { kindTitle, shortTitle } from "./titles";

const kAlternativeColumns: Column<Suspect>[] = [
  { title: "alternative", cell: (suspect) => kindTitle(suspect.kind), sort: (suspect) => kindTitle(suspect.kind) },
  { title: "place", cell: (suspect) => <Place name={suspect.place} />, sort: (suspect) => suspect.place },
  { title: "direction", cell: (suspect) => suspect.direction || "–", sort: (suspect) => suspect.direction },
  { title: "probability", numeric: true, cell: (suspect) => <Share value={suspect.probability} />, sort: (suspect) => suspect.probability },
];

function persistenceText({ persistence, active_count }: Finding): string {
  switch (persistence) {
    case "PERSISTENCE_SINGLE":
      return "active once, then ended";
    case "PERSISTENCE_RECURRING":
      return `recurring: active ${count(active_count)} times`;
    case "PERSISTENCE_PERMANENT":
      return "active without a pause";
    default:
      return "not reported";
  }
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Facts({ finding, jobNames, reference }: { finding: Finding; jobNames: Map<string, string>; reference: Reference }) {
  const active = activeNs(finding, reference);
  return (
    <dl class="facts finding-facts">
      <Fact name="started">
        <Moment time={finding.start_time} reference={reference} />
        {reference.nowNs !== undefined && <span class="muted"> ({utcTime(finding.start_time, 0)} UTC)</span>}
      </Fact>
      {active !== undefined && <Fact name="active for">{duration(active)}</Fact>}
      <Fact name="affected jobs">
        {finding.affected_job_ids.length === 0 ? "none known" : finding.affected_job_ids.map((id, i) => (
          <span key={id}>{i > 0 && ", "}<JobLink id={id} label={jobNames.get(id)} /></span>
        ))}
      </Fact>
      <Fact name="confidence"><Share value={finding.confidence} /></Fact>
      <Fact name="persistence">{persistenceText(finding)}</Fact>
      {finding.detection_time && <Fact name="detected after">{duration(nsBetween(finding.start_time, finding.detection_time))}</Fact>}
    </dl>
  );
}

const kAnomaliesShown = 6;

interface AnomaliesProps {
  anomalies: Anomaly[];
  finding: Finding;
  reference: Reference;
}

function ConcurrentAnomalies({ anomalies, finding, reference }: AnomaliesProps) {
  const here = anomalies.filter((anomaly) => isConcurrent(anomaly, finding));
  if (here.length === 0) return null;
  return (
    <section aria-labelledby="concurrent-title">
      <h2 id="concurrent-title">Anomalies at the same place and time</h2>
      <ul class="evidence">
        {here.slice(0, kAnomaliesShown).map((anomaly) => (
          <li key={`${anomaly.place} ${anomaly.start_time} ${anomaly.priority}`}>
            {enumWords(anomaly.kind)} <Place name={anomaly.place} />: {anomaly.metrics.slice(0, 2).map(({ metric }) => words(metric)).join(", ")},{" "}
            score {percent(anomaly.score)}, <Moment time={anomaly.start_time} reference={reference} />
          </li>
        ))}
      </ul>
      {here.length > kAnomaliesShown && <p class="muted">and {count(here.length - kAnomaliesShown)} more</p>}
    </section>
  );
}

function Links({ finding }: { finding: Finding }) {
  const { affected_job_ids: jobs, place } = finding;
  const source = useSource();
  const hasHotspots = source?.offers?.(`/api/v1/hotspots?job_id=${encodeURIComponent(jobs[0] ?? "")}`) ?? true;
  return (
    <nav class="finding-links" aria-label="Related views">
      {source?.offersPlace?.(place) !== false && <a href={hrefOfPlace(place)}>Show on the fabric map</a>}
      <DependentsLink element={place} text="Dependents" />
      {jobs[0] !== undefined && hasHotspots && <a href={href("hotspots", { job: jobs[0] })}>Hotspots of the job</a>}
      <a href={href("findings", { text: place })}>Findings at this place</a>
      <Export name={`Finding ${finding.kind} ${place}`} rows={[finding]} />
    </nav>
  );
}

interface DetailsProps {
  route: Route;
  finding: Finding;
  current: Finding[];
  jobNames: Map<string, string>;
  reference: Reference;
}

function Details({ route, finding, current, jobNames, reference }: DetailsProps) {
  const anomalies = useResource<ListAnomaliesResponse>("/api/v1/anomalies");
  const changes = useChanges(route, current, findingKey(finding));
  if (areWaiting(anomalies) || changes.isLoading) return <><h1>{shortTitle(finding)}</h1><p class="loading" role="status">Loading …</p></>;
  return (
    <article class="finding-page">
      <h1>
        <SeverityTag finding={finding} /> {shortTitle(finding)} <StateTag finding={finding} />
      </h1>
      <p class="finding-sentence">{finding.sentence}</p>
      {stateOf(finding) === "suspected" && <Notice kind="caution" title="Suspected: more likely wrong than right. Verify it before you act." />}
      <p class="action"><strong>Recommended action:</strong> {finding.recommended_action}</p>
      <ReviewPanel finding={finding} reference={reference} isCurrent={current.includes(finding)} />
      <Facts finding={finding} jobNames={jobNames} reference={reference} />
      <Links finding={finding} />
      <Chain finding={finding} jobNames={jobNames} />
      <div class="finding-columns">
        <section aria-labelledby="evidence-title">
          <h2 id="evidence-title">Evidence, strongest first</h2>
          {finding.evidence.length === 0 ? <p class="muted">No evidence is recorded.</p> : (
            <ol class="evidence">{finding.evidence.map((sentence) => <li key={sentence}>{sentence}</li>)}</ol>
          )}
        </section>
        <div>
          {finding.alternatives.length > 0 && (
            <section aria-labelledby="alternatives-title">
              <h2 id="alternatives-title">Alternative explanations</h2>
              <Table caption="Alternatives" columns={kAlternativeColumns} rows={finding.alternatives}
                keyOf={(suspect) => `${suspect.kind} ${suspect.place} ${suspect.direction}`} most={8} />
              {finding.missing_telemetry.length > 0 && (
                <p>Missing telemetry that would distinguish them: {finding.missing_telemetry.join("; ")}.</p>
              )}
            </section>
          )}
          {!anomalies.value && <Absence resource={anomalies} what="anomalies" />}
          <ConcurrentAnomalies anomalies={anomalies.value?.anomalies ?? []} finding={finding} reference={reference} />
        </div>
      </div>
      <Changes route={route} changes={changes} title="Occurrences of this fault" most={{ rows: 1, events: 4 }}
        nothing="The fault was not active in this time range." />
    </article>
  );
}

function isWithdrawal(event: ApplianceEvent, finding: Finding): boolean {
  const [start, time] = [toNs(finding.start_time), toNs(event.event_time)];
  return event.kind === "KIND_FAULT_WITHDRAWN" && event.finding?.kind === finding.kind &&
    event.finding.place === finding.place && (start === undefined || (time !== undefined && time >= start));
}

const kEventsRead = 100;

// A finding that the appliance no longer lists: from its history, if there is one.
function PastFinding({ route, current, jobNames }: { route: Route; current: Finding[]; jobNames: Map<string, string> }) {
  const { store } = useShared();
  const reference = useReference();
  const minute = useMinute();
  const id = route.name;
  const { kind, place } = parseFindingId(id);
  const query = new URLSearchParams({ place, page_size: String(kEventsRead) });
  const answer = useResource<ListPastEventsResponse>(store.source.live && place ? `/api/v1/history/events?${query}` : "");
  const events = answer.value?.events ?? [];
  const recorded = events.flatMap(({ kind: change, finding }) => (finding && change !== "KIND_FAULT_WITHDRAWN" ? [finding] : []));
  const past = findById(id, recorded);
  const isLoading = answer.path !== "" && answer.status === "waiting";
  if (isLoading) return <p class="loading" role="status">Looking for the finding in the history …</p>;
  if (past) {
    const isWithdrawn = stateOf(past) === "ongoing" && events.some((event) => isWithdrawal(event, past));
    // The list contains a finding from its detection on.
    const listedNs = toNs(past.detection_time) ?? toNs(past.start_time);
    return (
      <>
        <Notice kind="caution" title={minute !== undefined
          ? `This finding is not in the list at ${minuteText(minute)}. It is shown as the history recorded it.`
          : isWithdrawn
            ? "This finding was withdrawn: later telemetry has another explanation."
            : "This finding is no longer current. It is shown as the history recorded it."}>
          {minute !== undefined && listedNs !== undefined && minute < listedNs && (
            <p>It was detected later: <a href={href("findings", { ...route.query, time: urlTime(minuteAfter(listedNs)) }, id)}>show {minuteText(minuteAfter(listedNs))}</a></p>
          )}
          <a href={href("findings")}>{minute === undefined ? "Current findings" : "Findings at this minute"}</a>
        </Notice>
        <Details route={route} finding={past} current={current} jobNames={jobNames} reference={reference} />
      </>
    );
  }
  const others = occurrences(id, [...current]).concat(current.filter((finding) => finding.place === place && finding.kind !== kind));
  return (
    <>
      <h1>Unknown finding</h1>
      <Notice kind="caution" title={place ? `No ${minute === undefined ? "current finding" : `finding at ${minuteText(minute)}`} has this ID: ${kindTitle(kind)}, ${place}` : "This is not the ID of a finding"}>
        <p>
          {!store.source.live && "This file contains no such finding."}
          {store.source.live && answer.error?.reason === "NO_HISTORY" && "It may be resolved or withdrawn: the appliance drops resolved findings after some time, and no history is configured (history.file) that would still contain it."}
          {store.source.live && answer.value && "The history of events at this place does not contain it either: it is older than the history, or the link is incomplete."}
          {store.source.live && place === "" && "The link is incomplete. The ID of a finding has the form KIND~PLACE~DIRECTION~START."}
          {answer.error && answer.error.reason !== "NO_HISTORY" && `The history cannot be read: ${answer.error.message}`}
          {answer.status === "unreachable" && `The history cannot be read: ${answer.message}`}
        </p>
        <p><a href={href("findings")}>{minute === undefined ? "Current findings" : "Findings at this minute"} ({count(current.length)})</a></p>
      </Notice>
      {others.length > 0 && (
        <>
          <h2>{minute === undefined ? "Current findings" : "Findings at this minute"} at the same place</h2>
          <ul>{others.sort(worstFirst).map((finding) => <li key={hrefOfFinding(finding)}><a href={hrefOfFinding(finding)}>{shortTitle(finding)}</a> <Tag kind={stateOf(finding)} text={stateOf(finding)} /></li>)}</ul>
        </>
      )}
    </>
  );
}

interface Props {
  route: Route;
  jobs: Resource<ListJobsResponse>;
  jobNames: Map<string, string>;
}

export function FindingPage({ route, jobs, jobNames }: Props) {
  const answer = useResource<ListFindingsResponse>("/api/v1/findings");
  const reference = useReference();
  if (!answer.value || areWaiting(jobs)) return <><h1>Finding</h1><Absence resource={answer} what="findings" /></>;
  const current = [...answer.value.findings, ...answer.value.suspected_findings];
  const found = findById(route.name, current);
  return (
    <>
      <p class="back"><a href={hrefOfView("findings", route.query)}>All findings</a></p>
      {found
        ? <Details route={route} finding={found} current={current} jobNames={jobNames} reference={reference} />
        : <PastFinding route={route} current={current} jobNames={jobNames} />}
    </>
  );
}

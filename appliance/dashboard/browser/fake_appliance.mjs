// SPDX-License-Identifier: BSD-3-Clause
// Serves dist/ and the API of an appliance, for browser tests and for work on the dashboard. The fabric
// has pods of 64 hosts. Four jobs run on it; a gray link, bit errors and an incast disturb them. The faults
// are fixed relative to now; tests change `state`. The history has the answers of the last 6 hours, with a
// gap. Findings can be acknowledged and muted.
//
//   node fake_appliance.mjs PORT [HOSTS] [NICS_OF_A_HOST] [--without-history]
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { fakeFindings } from "./fake_findings.mjs";
import { fakeReviews } from "./fake_reviews.mjs";

const kDist = new URL("../dist/", import.meta.url);
const kStart = Date.now();
const kFaultStart = kStart - 780e3;
const time = (ms) => new Date(ms).toISOString();
const seconds = (value) => `${Number(value.toFixed(9))}s`;
const range = (length) => Array.from({ length }, (_, i) => i);
// A number from 0 to 1 that depends only on the name.
const chance = (name) => {
  let hash = 2166136261;
  for (const letter of name) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
};

const source = (name, kind) => ({
  name, kind, listen_addresses: [], ledger: { received: "100000", decoded: "99990", filtered: "10", dropped: [] }, bytes: "100000000", missed_frames: "0",
  records: "100000", dropped_records: "0", open_flow_count: "192", last_arrival_time: time(Date.now()), error: "", dpdk_ports: [], problems: [], agents: [],
});

// The anomaly of a receiver that is slow, and one without a finding.
const kAnomalies = [{
  models: ["MODEL_ROBUST_Z"], window_count: 420, probability: 0.001,
  kind: "KIND_NIC", place: "gpu-9:mlx5_1", start_time: time(kStart - 1500e3), end_time: time(kStart - 1080e3), score: 0.93, peer_count: 31, episode: 0,
  metrics: [{ metric: "paused_share", unit: "1", observed: 0.31, expected: 0.01 }],
}, {
  models: ["MODEL_ROBUST_Z"], window_count: 60, probability: 0.004,
  kind: "KIND_PORT", place: "leaf3:Ethernet2", start_time: time(kStart - 900e3), end_time: time(kStart - 840e3), score: 0.88, peer_count: 31, episode: 0,
  metrics: [{ metric: "tx_bytes", unit: "B", observed: 2e9, expected: 9e9 }],
}];

const kMinute = 60e3;
const kOldestMs = kStart - 6 * 3600e3;
const kGapMs = [kStart - 140 * kMinute, kStart - 100 * kMinute];

// The time of the last stored answer, at most 15 minutes before. Undefined if there is none.
function storedTime(atMs) {
  for (let minute = Math.floor(atMs / kMinute) * kMinute; minute > atMs - 15 * kMinute; minute -= kMinute) {
    const isMissing = minute < kOldestMs || (minute >= kGapMs[0] && minute < kGapMs[1]);
    if (!isMissing && minute + 400 <= Math.min(atMs, Date.now())) return minute + 400;
  }
  return undefined;
}
const kPastCalls = /^\/api\/v1\/(jobs(\/[^/]+)?|hotspots|findings|anomalies|service-levels|links)$/;

function pointsOf(query, point) {
  const [start, end] = [Date.parse(query.get("start_time")), Date.parse(query.get("end_time"))];
  const most = Number(query.get("max_points") || 1000);
  const step = Math.max(60e3, Math.ceil((end - start) / most / 60e3) * 60e3);
  const points = [];
  for (let at = Math.ceil(start / step) * step; at < Math.min(end, Date.now()); at += step) {
    const age = kStart - at;
    if (age > 8 * 86400e3 || (age > 40 * 60e3 && age < 48 * 60e3)) continue; // older data, and a gap
    points.push({ start_time: time(at), ...point(at, step / 1000) });
  }
  return { step: seconds(step / 1000), points };
}

const page = (name, elements, rest) => ({ [name]: elements, total_size: elements.length, next_page_token: "", ...rest });
const refused = (code, status, reason, message) => ({ code, body: { error: { code, status, message, details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason }] } } });

// Returns the function that responds to a request path and its query. `reviewed` adds the reviews to a finding.
function fabricOf(hosts, state, reviewed = (finding) => finding, nics = hosts > 64 ? 1 : 2) {
  const hostsPerLeaf = hosts > 64 ? 32 : 4;
  const leavesPerPod = hosts > 64 ? 2 : 4;
  const spines = hosts > 1024 ? 16 : 4;
  const leaves = Math.ceil(hosts / hostsPerLeaf);
  const firstUplink = Math.max(100, hostsPerLeaf * nics);
  const leafOf = (host) => Math.floor(host / hostsPerLeaf);
  const podOf = (leaf) => Math.floor(leaf / leavesPerPod);
  const address = (host, nic) => `10.${nic}.${host >> 8}.${host & 255}`;
  const topology = {
    name: "fake",
    nodes: [
      ...range(spines).map((i) => ({ name: `spine${i}`, tier: "TIER_SPINE", nics: [], gpus: [] })),
      ...range(leaves).map((i) => ({ name: `leaf${i}`, tier: "TIER_LEAF", pod: podOf(i), nics: [], gpus: [] })),
      ...range(hosts).map((i) => ({
        name: `gpu-${i}`, tier: "TIER_HOST", pod: podOf(leafOf(i)),
        nics: range(nics).map((n) => ({ device: `mlx5_${n}`, rail: n, addresses: [address(i, n)] })),
        gpus: range(nics).map((n) => ({ index: n, rail: n, nic: `mlx5_${n}` })),
      })),
    ],
    links: [
      ...range(hosts).flatMap((i) => range(nics).map((n) => (
        { a: `gpu-${i}:mlx5_${n}`, b: `leaf${leafOf(i)}:Ethernet${(i % hostsPerLeaf) * nics + n}`, bits_per_second: "400000000000" }))),
      ...range(leaves).flatMap((l) => range(spines).map((s) => (
        { a: `leaf${l}:Ethernet${firstUplink + s}`, b: `spine${s}:Ethernet${l}`, bits_per_second: "400000000000" }))),
    ],
  };
  const hostPort = new Map(topology.links.filter(({ a }) => a.startsWith("gpu")).map(({ a, b }) => [a, b]));

  const jobs = [
    { id: "slurm-4711", name: "pretrain-70b", user: "ada", first: 0, hosts: Math.min(8, hosts / 2), period: 0.42, slow: true },
    { id: "slurm-4712", name: "finetune", user: "bob", first: 8, hosts: 3, period: 1.3 },
    { id: "slurm-4713", name: "", user: "eve", first: 11, hosts: 2, period: undefined },
    { id: "comm-9f31", name: "", user: "", first: 13, hosts: 3, period: 0.09 },
  ];
  const kBadPort = `leaf0:Ethernet${firstUplink + 1}`;
  const kBadLink = `${kBadPort}-spine1:Ethernet0`;
  const snapshot = (now) => ({
    version: String(1 + Math.floor((now - kStart) / 1000)), data_time: time(now - state.dataAgeS * 1000), publish_time: time(now - 200), window_duration: "1s",
  });
  const { findingsAt, suspectedAt, events, coverage } = fakeFindings({ badLink: kBadLink, badPort: kBadPort, switches: leaves + spines, nics: hosts * nics });
  const iterationAt = (job, ms) => job.period * (1 + 0.03 * Math.sin(ms / 47e3) + 0.02 * chance(job.id + Math.floor(ms / 1000)) +
    (job.slow && !state.healthy && ms > kFaultStart ? 0.4 : 0));

  const listedAt = (ms) => (state.healthy ? [] : findingsAt(ms));
  const sentencesOf = (job, ms) => listedAt(ms).filter((one) => !one.end_time && one.affected_job_ids.includes(job.id)).map((one) => one.sentence);
  const summaryOf = (job, now) => ({
    job_id: job.id, identity: job.user ? "IDENTITY_SCHEDULER" : "IDENTITY_WIRE",
    allocation: job.user ? { scheduler_job_id: job.id.slice(6), name: job.name, user: job.user } : undefined,
    expected_rank_count: job.hosts * nics, logged_rank_count: job.hosts * nics, host_count: job.hosts, bytes: "81234567890123",
    first_seen_time: time(kStart - 9e6), last_seen_time: time(now - 1000),
    iteration_period: job.period && seconds(iterationAt(job, now)), iteration_count: job.period ? 240 : 0,
    collective_kinds: job.period ? ["KIND_RING", "KIND_ALL_TO_ALL"] : [], straggler: job.slow && now > kFaultStart ? "gpu-3:mlx5_0" : "",
    finding_sentences: sentencesOf(job, now),
    service_level_state: !job.period ? "STATE_NO_DATA" : sentencesOf(job, now).length === 0 ? "STATE_MET" : job.slow ? "STATE_MISSED" : "STATE_AT_RISK",
  });
  const qpnOf = (rank, i) => 0x1a00 + 2 * rank + i;
  const rankEnds = (job) => range(job.hosts * nics).map((rank) => ({ host: job.first + Math.floor(rank / nics), nic: rank % nics }));
  const jobOf = (job) => {
    const ends = rankEnds(job);
    return {
      job_id: job.id, expected_rank_count: ends.length, logged_rank_count: ends.length, notes: [], identity: "IDENTITY_SCHEDULER",
      allocation: job.user ? { scheduler_job_id: job.id.slice(6), name: job.name, user: job.user } : undefined,
      ranks: ends.map(({ host, nic }, rank) => ({
        rank, host: `gpu-${host}`, process_id: String(4000 + rank), cuda_device: nic, gpu_pci_address: `0000:${40 + nic}:00.0`, nics: [`mlx5_${nic}`],
        addresses: [address(host, nic)], queue_pairs: range(2).map((i) => ({ qpn: qpnOf(rank, i), candidate_peer_ranks: [], source: "RANK_SOURCE_NCCL_LOG", seen: true, peer_process: "", peer_source: "RANK_SOURCE_NCCL_LOG", peer_confidence: 1 })),
      })),
      edges: ends.map((_, rank) => ({
        source_rank: rank, destination_rank: (rank + nics) % ends.length, bytes: String(4e9 + rank * 1e6), messages: "4000", control_bytes: "0", control_messages: "0",
        source_qpns: [1], destination_qpns: [2], confidence: 1, missing_packets: "0", retransmitted_packets: job.slow && rank === 5 ? "8123" : "0",
        ce_marked_packets: job.slow && rank === 2 ? "91000" : "0", cnp_packets: "0", source_process: "", destination_process: "",
      })),
      iteration_pattern: job.period && {
        period: seconds(job.period), strength: 0.93, iteration_count: 240, start_time: time(kStart - 6e5), end_time: time(kStart),
        members: ends.map(({ host, nic }) => ({ address: address(host, nic), host: `gpu-${host}`, device: `mlx5_${nic}` })),
        collectives: [
          { kind: "KIND_RING", alternative: "KIND_UNSPECIFIED", confidence: 0.96, offset: seconds(job.period * 0.3), duration: seconds(job.period * 0.4), payload_bytes: "3000000000",
            groups: range(nics).map((n) => ({ member_indexes: ends.flatMap(({ nic }, i) => (nic === n ? [i] : [])) })) },
          { kind: "KIND_ALL_TO_ALL", alternative: "KIND_UNSPECIFIED", confidence: 0.81, offset: seconds(job.period * 0.8), duration: seconds(job.period * 0.1), payload_bytes: "200000000",
            groups: [{ member_indexes: ends.map((_, i) => i) }] },
        ],
        straggler: job.slow ? { member_index: 3 * nics, delay: seconds(job.period * 0.08), late_iteration_count: 40, total_iteration_count: 44, start_time: time(kStart - 3e5), end_time: time(kStart), confidence: 0.9 } : undefined,
      },
    };
  };
  const pathsOf = (job) => {
    const ends = rankEnds(job);
    return ends.flatMap((from, rank) => range(2).map((qp) => {
      const to = ends[(rank + nics) % ends.length];
      const [a, b] = [`gpu-${from.host}:mlx5_${from.nic}`, `gpu-${to.host}:mlx5_${to.nic}`];
      const [up, down] = [hostPort.get(a).split(":")[0], hostPort.get(b)];
      const spine = (rank + qp + 3) % spines; // rank 6 uses the bad link
      const ports = up === down.split(":")[0] ? [a, down] : [a, `${up}:Ethernet${firstUplink + spine}`, `spine${spine}:Ethernet${down.split(":")[0].slice(4)}`, down];
      return {
        source: address(from.host, from.nic), destination: address(to.host, to.nic), destination_qpn: qpnOf((rank + nics) % ends.length, qp), source_nic: a, destination_nic: b,
        intervals: [{
          start_time: time(kStart - 6e5), end_time: time(kStart), start_reason: "START_REASON_FIRST_SEEN", state: rank % 5 === 4 ? "STATE_AMBIGUOUS" : "STATE_EXACT", probability: rank % 5 === 4 ? 0.5 : 1,
          ports, candidate_path_count: rank % 5 === 4 ? "2" : "1", certain_ports: ports, shares: [], sources: ["SOURCE_MIRROR"], packets: "400000", bytes: String(1e9 + rank * 1e7 + qp),
          change_cause: "CHANGE_CAUSE_UNSPECIFIED", change_place: "",
        }],
      };
    }));
  };
  const loadOf = (port) => 0.75 * chance(port) ** 3;
  const linkLoads = (ms) => topology.links.flatMap(({ a, b }) => [a, b].map((end) => ({
    port: end, utilization: end === kBadPort && ms > kFaultStart ? 0.88 : loadOf(end), source: "SOURCE_COUNTERS", bytes: String(Math.round(loadOf(end) * 5e10)),
    ce_marked_packets: end === kBadPort && ms > kFaultStart ? "5100" : "0", dropped_packets: "0", paused_duration: end === kBadPort && ms > kFaultStart ? "0.012s" : "0s", peak_queue_bytes: String(Math.round(loadOf(end) * 1e6)), error_frames: "0",
  })));
  const hotspots = () => range(240).map((i) => {
    const hot = i % 3 === 0 ? kBadPort : `leaf${i % leaves}:Ethernet${i % 7}`;
    const job = jobs[i % 2];
    const cause = ["CAUSE_INCAST", "CAUSE_COLLISION", "CAUSE_PAUSED", "CAUSE_OVERLOAD", "CAUSE_UNKNOWN"][i % 5];
    return {
      port: hot, priority: 3, start_time: time(kStart - 1000 * (i * 7 + 9)), end_time: time(kStart - 1000 * (i * 7 + 1)), peak_queue_bytes: String(90000 + 1000 * i), ce_marked_packets: String(i * 37),
      dropped_packets: String(i % 4), paused_duration: seconds(i / 1000), source: "SOURCE_COUNTERS", cause, bytes: "123456789", flow_count: 12, imbalance_ratio: 2.5, group_utilization: 0.7, group_link_count: 4,
      culprits: [{ source: address(1, 0), destination: address(2, 0), destination_qpn: qpnOf(2, 0), bytes: "9000000", share: 0.6, job_id: job.id, rank: 2 }],
      lost_times: i % 5 === 4 ? [] : [{ job_id: job.id, lost_duration: seconds((1 + (i * 7919) % 97) / 100), ranks: [0, 1, 2, 5] }],
    };
  });

  return function answer(path, query) {
    const asked = kPastCalls.test(path) ? query.get("at_time") : null;
    const stored = asked === null ? undefined : storedTime(Date.parse(asked));
    if (asked !== null && !state.history) return refused(400, "FAILED_PRECONDITION", "NO_HISTORY", "no history: name a file in history.file of the configuration");
    if (asked !== null && stored === undefined) {
      return refused(404, "NOT_FOUND", "NO_DATA_AT_TIME", `at_time: the history has no readable answer for ${asked} or the 15 minutes before; ` +
        `it has answers from ${time(kOldestMs)} to ${time(Date.now())}, perhaps with gaps`);
    }
    const now = stored ?? Date.now();
    const meta = { snapshot: stored === undefined ? snapshot(now) : { version: "0", data_time: time(stored), publish_time: time(stored + 200), window_duration: "1s" } };
    const jobNamed = (id) => jobs.find((job) => job.id === id || (job.name && job.name === id));
    const most = Number(query.get("page_size") || 100);
    const listed = (name, all) => ({ ...meta, [name]: all.slice(0, most), total_size: all.length, next_page_token: "" });
    if (path.startsWith("/api/v1/history") && !state.history) return refused(400, "FAILED_PRECONDITION", "NO_HISTORY", "no history: name a file in history.file of the configuration");
    if (path.startsWith("/api/v1/jobs/")) {
      const job = jobNamed(decodeURIComponent(path.slice(13)));
      return job ? { body: { ...meta, job: jobOf(job), summary: summaryOf(job, now) } } : refused(404, "NOT_FOUND", "UNKNOWN_JOB", "no such job");
    }
    switch (path) {
      case "/api/v1/topology": return { body: topology };
      case "/api/v1/health": return { body: { state: "STATE_SERVING", problems: [], version: "fake", start_time: time(kStart - 9e7), current_time: time(now), ...meta, analysis_duration: "0.05s", has_topology: true,
        external_problems: state.healthy ? [] : ["the agent on gpu-11 has not reported for 2 min"] } };
      case "/api/v1/sources": return { body: page("sources", [source("mirror", "KIND_DPDK"), source("counters", "KIND_SCRAPE"), source("agents", "KIND_AGENTS")]) };
      case "/api/v1/links": return { body: { ...page("link_loads", linkLoads(now)), ...meta, ...(stored === undefined
        ? { start_time: time(now - 2000), end_time: time(now - 1000) } : { start_time: time(now - 400), end_time: time(now - 400 + kMinute) }) } };
      case "/api/v1/findings": {
        // Past findings have neither acknowledgements nor mutes.
        const [findings, suspected] = [listedAt(now), state.healthy ? [] : suspectedAt(now)].map((all) => (stored === undefined ? all.map(reviewed) : all));
        return { body: { ...page("findings", findings), ...meta, coverage: coverage(), suspected_findings: suspected } };
      }
      case "/api/v1/anomalies": return { body: { ...page("anomalies", state.healthy ? [] : kAnomalies.filter((one) => Date.parse(one.start_time) <= now)), ...meta, phase_changes: [], episodes: [], statistics: { evaluated_count: "9000", unevaluated_count: "12" } } };
      case "/api/v1/jobs": return { body: { ...page("jobs", jobs.map((job) => summaryOf(job, now)).reverse()), ...meta } };
      case "/api/v1/service-levels": {
        const missed = { indicator: "iteration_period", layer: "SERVICE_LAYER_APPLICATION", entity: "slurm-4711", state: "STATE_MISSED", bound: 0.5, bound_learnt: true, last_value: 0.6, short_window_ratio: 0.2, long_window_ratio: 0.6, window_count: 60 };
        const troubled = query.get("job_id") !== "slurm-4712" && now > kFaultStart;
        return { body: { ...listed("service_levels", troubled ? [missed] : []), objective: 0.95, short_window_count: 5, long_window_count: 60,
          indicators: [{ name: "iteration_period", layer: "SERVICE_LAYER_APPLICATION", unit: "s", violation: "VIOLATION_ABOVE", meaning: "Iteration period", met_count: "3", at_risk_count: "0", missed_count: troubled ? "1" : "0", no_data_count: "1", worst: troubled ? missed : undefined }] } };
      }
      case "/api/v1/hotspots": {
        const job = query.get("job_id");
        return { body: listed("hotspots", hotspots().filter((one) => Date.parse(one.start_time) <= now && (!job || one.lost_times.some((lost) => lost.job_id === jobNamed(job)?.id)))) };
      }
      case "/api/v1/paths": {
        const [source, destination] = [query.get("source"), query.get("destination")];
        const job = jobNamed(query.get("job_id") ?? "");
        if (!job && !(source && destination)) return refused(400, "INVALID_ARGUMENT", "INVALID_FIELDS", "source and destination, or job_id, are required");
        const ports = [...(query.get("filter") ?? "").matchAll(/"([^"]+)"/g)].map((match) => match[1]);
        const all = (job ? [job] : jobs).flatMap(pathsOf).filter((flow) => (!source || flow.source_nic === source || flow.source === source) &&
          (!destination || flow.destination_nic === destination || flow.destination === destination) && (ports.length === 0 || ports.some((one) => flow.intervals[0].ports.includes(one))));
        return { body: listed("paths", all) };
      }
      case "/api/v1/dependencies": return { body: { ...meta,
        dependency: { question: "QUESTION_BLAST_RADIUS", kind: "ELEMENT_KIND_LINK", name: query.get("element"), elements: [
          { kind: "ELEMENT_KIND_JOB", elements: jobs.slice(0, 2).map((job) => ({ name: job.id, allocation: summaryOf(job, now).allocation })) }] },
        coverage: { flow_count: "64", known_flow_count: "60", partly_known_flow_count: "4", unclaimed_flow_count: "2" } } };
      case "/api/v1/history/events": {
        const { start_time: start = "", end_time: end = "", place = "" } = Object.fromEntries(query);
        const found = events().filter((event) => (!start || Date.parse(event.event_time) >= Date.parse(start)) &&
          (!end || Date.parse(event.event_time) < Date.parse(end)) && (!place || event.finding?.place === place));
        return { body: { events: found, next_page_token: "" } };
      }
      case "/api/v1/history/jobs": {
        const job = jobNamed(query.get("job_id"));
        if (!job) return refused(404, "NOT_FOUND", "UNKNOWN_JOB", "no history of this job");
        return { body: { job_id: job.id, ...pointsOf(query, (at, step) => ({
          bytes: String(Math.round(step * job.hosts * 2e10 / (iterationAt({ period: 1, ...job }, at) / (job.period ?? 1)))), iteration_count: job.period ? step / iterationAt(job, at) : 0,
          mean_iteration_period: job.period && seconds(iterationAt(job, at)), finding_count: job.slow && at > kFaultStart ? 1 : 0,
          service_level_state: job.slow && at > kFaultStart ? "STATE_MISSED" : "STATE_MET", snapshot_count: step })) } };
      }
      case "/api/v1/history/links": {
        const end = query.get("port");
        const bad = end === kBadPort;
        if (end.startsWith("spine3:")) return refused(404, "NOT_FOUND", "UNKNOWN_ELEMENT", "no history of this port");
        return { body: { port: end, ...pointsOf(query, (at, step) => {
          const mean = Math.min(1, loadOf(end) * (1 + 0.3 * Math.sin(at / 3e5)) + (bad ? 0.3 : 0));
          return { mean_utilization: mean, max_utilization: Math.min(1, mean * 1.3), bytes: String(Math.round(mean * step * 5e10)), ce_marked_packets: bad && at > kFaultStart ? String(Math.round(step * 80)) : "0",
            dropped_packets: "0", paused_duration: seconds(bad ? step * 0.02 : 0), peak_queue_bytes: "120000", error_frames: "0", window_count: step };
        }) } };
      }
      default: return refused(404, "NOT_FOUND", "UNKNOWN_PATH", `no such path: ${path}`);
    }
  };
}

// The data of a single-file page (README.md), as `rocescope replay -o html` embeds it.
export function fakeFile({ hosts = 16 } = {}) {
  const answer = fabricOf(hosts, { dataAgeS: 0, history: false, healthy: false, silent: false });
  const stored = {};
  const add = (path) => {
    const [base, query = ""] = path.split("?");
    const { body } = answer(`/api/v1/${base}`, new URLSearchParams(`${query}&page_size=20000`));
    stored[`/api/v1/${path}`] = body;
    return body;
  };
  for (const path of ["topology", "links", "anomalies", "service-levels", "hotspots"]) add(path);
  const { findings, suspected_findings: suspected } = add("findings");
  for (const { place } of [...findings, ...suspected]) add(`dependencies?question=QUESTION_BLAST_RADIUS&element=${encodeURIComponent(place)}`);
  for (const { job_id: job } of add("jobs").jobs) {
    for (const path of ["jobs/", "service-levels?job_id=", "hotspots?job_id=", "paths?job_id="]) add(path + encodeURIComponent(job));
  }
  return stored;
}

// The policy of the appliance (appliance/daemon/web/web.cc).
const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const kFiles = { "/": ["index.html", "text/html"], "/app.js": ["app.js", "text/javascript"], "/app.css": ["app.css", "text/css"] };

function sendEvents(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const send = () => response.write(`event: KIND_SNAPSHOT\ndata: ${JSON.stringify({ cursor: "1", event_time: time(Date.now()), kind: "KIND_SNAPSHOT", sentence: "" })}\n\n`);
  const timer = setInterval(send, 2000);
  response.on("close", () => clearInterval(timer));
  send();
}

async function contentOf(request) {
  let content = "";
  for await (const part of request.setEncoding("utf8")) content += part;
  return content;
}

// Port 0: a free port.
export function startFakeAppliance(port, { hosts = 16, nics, history = true } = {}) {
  const state = { dataAgeS: 0.9, history, healthy: false, silent: false, user: "ada", isOperator: true, storageProblem: "" };
  const reviews = fakeReviews(state);
  const answer = fabricOf(hosts, state, reviews.decorated, nics);
  const listed = () => {
    const { findings, suspected_findings: suspected } = answer("/api/v1/findings", new URLSearchParams()).body;
    return [...findings, ...suspected];
  };
  const server = createServer(async (request, response) => {
    if (state.silent) return request.destroy();
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname === "/api/v1/events") return sendEvents(response);
    if (pathname === "/favicon.ico") return response.writeHead(204).end();
    const file = kFiles[pathname];
    if (file) {
      response.writeHead(200, { "Content-Type": `${file[1]}; charset=utf-8`, "Content-Security-Policy": kPolicy });
      return response.end(readFileSync(new URL(file[0], kDist)));
    }
    const review = { path: pathname, verb: request.method, contentType: request.headers["content-type"], content: await contentOf(request) };
    const { code = 200, body } = reviews.answer(review, listed()) ??
      (request.method === "POST" ? refused(405, "UNIMPLEMENTED", "WRONG_METHOD", `method POST is not supported for ${pathname}; use GET or HEAD`) : answer(pathname, searchParams));
    response.writeHead(code, { "Content-Type": "application/json" });
    return response.end(JSON.stringify(body));
  });
  return new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", () =>
    resolve({ url: `http://127.0.0.1:${server.address().port}/`, state, reviews, close: () => server.closeAllConnections() ?? server.close() })));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [port = "18080", hosts = "16", nics] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  const { url } = await startFakeAppliance(Number(port), { hosts: Number(hosts), nics: nics && Number(nics), history: !process.argv.includes("--without-history") });
  console.log(url);
}

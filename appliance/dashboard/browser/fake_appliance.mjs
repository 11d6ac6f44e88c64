// SPDX-License-Identifier: BSD-3-Clause
// Serves dist/ and the API of an appliance with a small fabric, for browser tests and for work on the
// dashboard. The faults are fixed relative to now; tests change `state`.
//
//   node fake_appliance.mjs PORT
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const kDist = new URL("../dist/", import.meta.url);
const kTypes = { html: "text/html", js: "text/javascript", css: "text/css" };
const kLeaves = 4, kSpines = 2, kHosts = 12, kNics = 4;

const range = (count) => [...Array(count).keys()];
const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
const list = (field, elements, more = {}) => ({ [field]: elements, total_size: elements.length, next_page_token: "", ...more });

function topology() {
  const hosts = range(kHosts).map((host) => ({
    name: `host${host}`, tier: "TIER_HOST",
    nics: range(kNics).map((nic) => ({ device: `mlx5_${nic}`, rail: nic, addresses: [`10.${nic}.0.${host + 1}`] })),
    gpus: range(kNics).map((gpu) => ({ index: gpu, rail: gpu, nic: `mlx5_${gpu}` })),
  }));
  const switches = [["leaf", "TIER_LEAF", kLeaves], ["spine", "TIER_SPINE", kSpines]].flatMap(([name, tier, count]) =>
    range(count).map((i) => ({ name: `${name}${i}`, tier, nics: [], gpus: [] })));
  const down = hosts.flatMap((host, h) => host.nics.map((nic) =>
    ({ a: `${host.name}:${nic.device}`, b: `leaf${nic.rail}:${h}`, bits_per_second: "100000000000" })));
  const up = range(kLeaves).flatMap((leaf) => range(kSpines).map((spine) =>
    ({ a: `leaf${leaf}:${kHosts + spine}`, b: `spine${spine}:${leaf}`, bits_per_second: "400000000000" })));
  return { name: "fake", nodes: [...hosts, ...switches], links: [...down, ...up] };
}

function finding(fields) {
  return {
    direction: "", confidence: 0.97, evidence: [], alternatives: [], missing_telemetry: [], culprits: [],
    affected_job_ids: [], loop_ports: [], symptoms: [], persistence: "PERSISTENCE_PERMANENT", active_count: 1,
    detector: "fake", uncalibrated_confidence: 0.97, exposed_job_ids: [], detection_time: fields.start_time, ...fields,
  };
}

function findings() {
  return [
    finding({
      kind: "bit_errors", place: "leaf2:13-spine1:2", direction: "leaf2:13", start_time: ago(2400), confidence: 0.91,
      sentence: "The link leaf2:13-spine1:2 has bit errors (the receiving port drops frames with a wrong FCS).",
      recommended_action: "schedule a repair: clean or replace the cable or transceiver; take the link out of routing until then",
      persistence: "PERSISTENCE_RECURRING", active_count: 3, evidence: ["spine1:2 received 812 frames with a wrong FCS"],
      exposed_job_ids: ["job-b"],
    }),
    finding({
      kind: "gray_loss", place: "leaf1:12-spine0:1", direction: "leaf1:12", start_time: ago(780), affected_job_ids: ["job-a", "job-b"],
      detection_time: ago(776),
      sentence: "The link leaf1:12-spine0:1 has silent packet loss (no drop counter shows it). It affects the jobs pretrain-70b and finetune.",
      recommended_action: "drain the link and replace its transceivers, the transmitting one first",
      evidence: [
        "leaf1:12 sent 10 412 900 frames, spine0:1 received 10 308 771 of them (1.0 % lost), without error or drop counters",
        "62 of 64 flows over the link retransmitted packets, 0 of 128 flows over other links did",
      ],
      alternatives: [{ kind: "bit_errors", place: "leaf1:12-spine0:1", direction: "leaf1:12", probability: 0.03 }],
      missing_telemetry: ["frame error counters of spine0"],
      symptoms: [{ kind: "straggler", place: "host3:gpu:1", direction: "", probability: 0.9 }],
      reach: { job_count: 2, rank_count: 32, gpu_count: 32, host_count: 8 },
    }),
    finding({
      kind: "slow_receiver", place: "host7:mlx5_2", start_time: ago(1500), end_time: ago(1080), affected_job_ids: ["job-b"],
      sentence: "host7:mlx5_2 was a slow receiver (took packets too slowly). It affected the job finetune.",
      recommended_action: "observe the place: check the host's PCIe width and speed, IOMMU and memory", persistence: "PERSISTENCE_SINGLE",
      evidence: ["leaf2:7 was paused for 31 % of the time"],
    }),
  ];
}

const suspected = () => [finding({
  kind: "straggler", place: "host2:gpu:3", start_time: ago(300), confidence: 0.31, affected_job_ids: ["job-a"],
  sentence: "host2:gpu:3 may be a straggler (computes more slowly than the job's other GPUs, which wait).",
  recommended_action: "check its clock, temperature and ECC errors; move the rank to another GPU",
})];

function pastEvents() {
  const all = findings().flatMap((found) => [
    { cursor: "0", event_time: found.detection_time, kind: "KIND_FAULT_STARTED", sentence: found.sentence, finding: { ...found, end_time: undefined } },
    ...(found.end_time ? [{ cursor: "0", event_time: found.end_time, kind: "KIND_FAULT_RESOLVED", sentence: found.sentence, finding: found }] : []),
  ]);
  const flap = finding({ kind: "flap", place: "host9:mlx5_0-leaf0:9", start_time: ago(9000), end_time: ago(7000), sentence: "The link host9:mlx5_0-leaf0:9 flapped.", recommended_action: "replace its cable" });
  all.push({ cursor: "0", event_time: ago(9000), kind: "KIND_FAULT_STARTED", sentence: flap.sentence, finding: { ...flap, end_time: undefined } });
  all.push({ cursor: "0", event_time: ago(7000), kind: "KIND_FAULT_RESOLVED", sentence: flap.sentence, finding: flap });
  all.push({ cursor: "0", event_time: ago(2900), kind: "KIND_SOURCE_FAILED", sentence: "sflow: the socket was closed" });
  return all.sort((a, b) => (a.event_time < b.event_time ? 1 : -1));
}

const job = (job_id, name, host_count, state) => ({
  job_id, identity: "IDENTITY_NCCL_LOG", allocation: { scheduler_job_id: "4711", name, user: "ada" },
  expected_rank_count: host_count * 4, logged_rank_count: host_count * 4, host_count, bytes: "1200000000000",
  last_seen_time: ago(1), iteration_period: "0.412s", iteration_count: 812, collective_kinds: ["KIND_RING"], straggler: "",
  finding_sentences: findings().filter((found) => !found.end_time && found.affected_job_ids.includes(job_id)).map((found) => found.sentence),
  service_level_state: state,
});

function jobDetail(id) {
  const ranks = range(8).map((rank) => ({
    rank, host: `host${rank}`, process_id: "1", gpu_pci_address: "", nics: ["mlx5_0"], addresses: [`10.0.0.${rank + 1}`],
    queue_pairs: [{ qpn: 0x1a00 + rank, candidate_peer_ranks: [], source: "RANK_SOURCE_NCCL_LOG", seen: true, peer_process: "", peer_source: "RANK_SOURCE_UNSPECIFIED", peer_confidence: 0 }],
  }));
  return { job: { job_id: id, identity: "IDENTITY_NCCL_LOG", ranks, edges: [], notes: [], logged_rank_count: 8, expected_rank_count: 8 } };
}

const coverage = () => ({
  window_count: "256", window_duration: "1s", reporting_switch_count: 6, total_switch_count: 6, reporting_nic_count: 46,
  total_nic_count: 48, reporting_gpu_count: 48, total_gpu_count: 48, flow_count: "192", undetectable_kinds: ["added_latency", "deprioritised_cnps"],
  silences: [], obstacle: "OBSTACLE_UNSPECIFIED", address_count: 48, known_address_count: 48, polling_interval: "1s", dropped_records_note: "",
  earlier_window_count: "0", topology_has_no_links: false, confirmed_link_count: 56, contradicted_link_count: 0, readings: "READINGS_EACH_WINDOW",
  blind_spots: [], unusable_counters: [],
});

const source = (name, kind) => ({
  name, kind, listen_addresses: [], ledger: { received: "100000", accepted: "100000", drops: [] }, bytes: "100000000", missed_frames: "0",
  records: "100000", dropped_records: "0", open_flow_count: "192", last_arrival_time: ago(0), error: "", dpdk_ports: [], problems: [], agents: [],
});

// The response to a request. A number is the status of an error, with the reason and the message.
function respond(state, url) {
  const snapshot = { version: "812", data_time: ago(state.dataAgeS), publish_time: ago(0), window_duration: "1s" };
  const found = state.healthy ? [] : findings();
  switch (url.pathname) {
    case "/api/v1/health":
      return {
        state: "STATE_SERVING", problems: [], external_problems: state.healthy ? [] : ["the agent on host11 has not reported for 2 min"],
        version: "0.1.0", start_time: ago(90_000), current_time: ago(0), snapshot, analysis_duration: "0.12s", has_topology: true,
      };
    case "/api/v1/sources": return list("sources", [source("mirror", "KIND_DPDK"), source("counters", "KIND_SCRAPE"), source("agents", "KIND_AGENTS")]);
    case "/api/v1/topology": return topology();
    case "/api/v1/findings": return list("findings", found, { coverage: coverage(), suspected_findings: state.healthy ? [] : suspected(), snapshot });
    case "/api/v1/jobs": return list("jobs", [
      job("job-a", "pretrain-70b", 6, state.healthy ? "STATE_MET" : "STATE_MISSED"),
      job("job-b", "finetune", 3, state.healthy ? "STATE_MET" : "STATE_AT_RISK"), job("job-c", "eval", 2, "STATE_MET")]);
    case "/api/v1/anomalies": return list("anomalies", [], { phase_changes: [], episodes: [], statistics: { evaluated_count: "9000", unevaluated_count: "12" } });
    case "/api/v1/links": return list("link_loads", topology().links.map(({ a }, i) => ({
      port: a, utilization: (i % 9) / 10, source: "SOURCE_COUNTERS", bytes: "1000000", ce_marked_packets: "0", dropped_packets: "0", paused_duration: "0s", error_frames: "0" })),
      { start_time: ago(2), end_time: ago(1) });
    case "/api/v1/hotspots": return list("hotspots", []);
    case "/api/v1/paths": return list("paths", []);
    case "/api/v1/service-levels": return list("service_levels", [], { indicators: [], objective: 0.99, short_window_count: 60, long_window_count: 3600 });
    case "/api/v1/dependencies": return { dependency: { elements: [] } };
    case "/api/v1/history/events": {
      if (!state.history) return [400, "NO_HISTORY", "The configuration names no history file (history.file)."];
      const { start_time: start = "", end_time: end = "", place = "" } = Object.fromEntries(url.searchParams);
      const events = pastEvents().filter((event) => (!start || Date.parse(event.event_time) >= Date.parse(start)) &&
        (!end || Date.parse(event.event_time) < Date.parse(end)) && (!place || event.finding?.place === place));
      return { events, next_page_token: "" };
    }
    default:
      if (url.pathname.startsWith("/api/v1/jobs/job-")) return jobDetail(url.pathname.split("/").at(-1));
      return [404, "UNKNOWN_JOB", "There is no such job."];
  }
}

export function startFakeAppliance(port) {
  const state = { dataAgeS: 1, history: true, healthy: false, silent: false };
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    const send = (status, type, body) => response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": "default-src 'self'" }).end(body);
    if (state.silent) return request.destroy();
    if (url.pathname === "/api/v1/events") return response.writeHead(200, { "Content-Type": "text/event-stream" }).write(":\n\n");
    if (!url.pathname.startsWith("/api/")) {
      const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
      try {
        return send(200, kTypes[name.split(".").at(-1)] ?? "text/plain", readFileSync(new URL(name, kDist)));
      } catch {
        return send(404, "text/plain", "not found");
      }
    }
    const answer = respond(state, url);
    if (!Array.isArray(answer)) return send(200, "application/json", JSON.stringify(answer));
    const [code, reason, message] = answer;
    return send(code, "application/json", JSON.stringify({ error: { code, message, status: "FAILED_PRECONDITION", details: [{ "@type": "", reason }] } }));
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () =>
    resolve({ url: `http://127.0.0.1:${server.address().port}/`, state, close: () => server.closeAllConnections() ?? server.close() })));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { url } = await startFakeAppliance(Number(process.argv[2] ?? 18080));
  console.log(url);
}

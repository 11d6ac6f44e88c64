// SPDX-License-Identifier: BSD-3-Clause
// The faults of the fake appliance: findings, past events and the coverage of the telemetry.

const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();

function finding(fields) {
  const isCritical = (fields.affected_job_ids ?? []).length > 0;
  return {
    severity: (fields.confidence ?? 1) < 0.5 ? "SEVERITY_INFO" : isCritical ? "SEVERITY_CRITICAL" : "SEVERITY_WARNING",
    direction: "", confidence: 0.97, evidence: [], alternatives: [], missing_telemetry: [], culprits: [],
    affected_job_ids: [], loop_ports: [], symptoms: [], persistence: "PERSISTENCE_PERMANENT", active_count: 1,
    detector: "fake", uncalibrated_confidence: 0.97, exposed_job_ids: [], detection_time: fields.start_time, ...fields,
  };
}

// The elements of the fabric that have the faults, and the numbers of its switches and NICs.
export function fakeFindings({ badLink, badPort, switches, nics }) {
  function current() {
    return [
      finding({
        kind: "bit_errors", place: "leaf2:Ethernet103-spine3:Ethernet2", direction: "leaf2:Ethernet103", start_time: ago(2400), confidence: 0.91,
        sentence: "The link leaf2:Ethernet103-spine3:Ethernet2 has bit errors (the receiving port drops frames with a wrong FCS).",
        recommended_action: "schedule a repair: clean or replace the cable or transceiver; take the link out of routing until then",
        persistence: "PERSISTENCE_RECURRING", active_count: 3, evidence: ["spine3:Ethernet2 received 812 frames with a wrong FCS"],
        exposed_job_ids: ["slurm-4712"],
      }),
      finding({
        kind: "gray_loss", place: badLink, direction: badPort, start_time: ago(780), affected_job_ids: ["slurm-4711", "slurm-4712"],
        detection_time: ago(776),
        sentence: `The link ${badLink} has silent packet loss (no drop counter shows it). It affects the jobs pretrain-70b and finetune.`,
        recommended_action: "drain the link and replace its transceivers, the transmitting one first",
        evidence: [
          `${badPort} sent 10 412 900 frames, spine1:Ethernet0 received 10 308 771 of them (1.0 % lost), without error or drop counters`,
          "62 of 64 flows over the link retransmitted packets, 0 of 128 flows over other links did",
        ],
        alternatives: [{ kind: "bit_errors", place: badLink, direction: badPort, probability: 0.03 }],
        missing_telemetry: ["frame error counters of spine1"],
        symptoms: [{ kind: "straggler", place: "gpu-3:gpu:1", direction: "", probability: 0.9 }],
        reach: { job_count: 2, rank_count: 32, gpu_count: 32, host_count: 8 },
      }),
      finding({
        kind: "slow_receiver", place: "gpu-9:mlx5_1", start_time: ago(1500), end_time: ago(1080), affected_job_ids: ["slurm-4712"],
        sentence: "gpu-9:mlx5_1 was a slow receiver (took packets too slowly). It affected the job finetune.",
        recommended_action: "observe the place: check the host's PCIe width and speed, IOMMU and memory", persistence: "PERSISTENCE_SINGLE",
        evidence: ["leaf2:Ethernet3 was paused for 31 % of the time"],
      }),
    ];
  }

  // The findings that the appliance listed at a past time.
  const at = (all, ms) => all.filter((one) => Date.parse(one.start_time) <= ms)
    .map((one) => (one.end_time && Date.parse(one.end_time) > ms ? { ...one, end_time: undefined } : one));
  const findingsAt = (ms) => at(current(), ms);
  const suspectedAt = (ms) => at(suspected(), ms);

  const suspected = () => [finding({
    kind: "straggler", place: "gpu-2:gpu:1", start_time: ago(300), confidence: 0.31, affected_job_ids: ["slurm-4711"],
    sentence: "gpu-2:gpu:1 may be a straggler (computes more slowly than the job's other GPUs, which wait).",
    recommended_action: "check its clock, temperature and ECC errors; move the rank to another GPU",
  })];

  function events() {
    const all = current().flatMap((found) => [
      { cursor: "0", event_time: found.detection_time, kind: "KIND_FAULT_STARTED", sentence: found.sentence, finding: { ...found, end_time: undefined } },
      ...(found.end_time ? [{ cursor: "0", event_time: found.end_time, kind: "KIND_FAULT_RESOLVED", sentence: found.sentence, finding: found }] : []),
    ]);
    const flap = finding({ kind: "flap", place: "gpu-9:mlx5_0-leaf2:Ethernet2", start_time: ago(9000), end_time: ago(7000), sentence: "The link gpu-9:mlx5_0-leaf2:Ethernet2 flapped.", recommended_action: "replace its cable" });
    all.push({ cursor: "0", event_time: ago(9000), kind: "KIND_FAULT_STARTED", sentence: flap.sentence, finding: { ...flap, end_time: undefined } });
    all.push({ cursor: "0", event_time: ago(7000), kind: "KIND_FAULT_RESOLVED", sentence: flap.sentence, finding: flap });
    all.push({ cursor: "0", event_time: ago(2900), kind: "KIND_SOURCE_FAILED", sentence: "sflow: the socket was closed" });
    return all.sort((a, b) => (a.event_time < b.event_time ? 1 : -1));
  }

  const coverage = () => ({
    window_count: "256", window_duration: "1s", reporting_switch_count: switches, total_switch_count: switches, reporting_nic_count: nics - 2,
    total_nic_count: nics, reporting_gpu_count: nics, total_gpu_count: nics, flow_count: "192", undetectable_kinds: ["added_latency", "deprioritised_cnps"],
    silences: [], obstacle: "OBSTACLE_UNSPECIFIED", address_count: nics, known_address_count: nics, polling_interval: "1s", dropped_records_note: "",
    earlier_window_count: "0", topology_has_no_links: false, confirmed_link_count: 56, contradicted_link_count: 0, readings: "READINGS_EACH_WINDOW",
    blind_spots: [], unusable_counters: [],
  });
  return { findingsAt, suspectedAt, events, coverage };
}

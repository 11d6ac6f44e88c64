// SPDX-License-Identifier: BSD-3-Clause
// The table of counters and gauges, and of the entities that have them. One row defines the
// enumerator, the name in counters.jsonl and in reports, the unit and the description. Values are
// integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

// name, description
#define ROCESCOPE_ENTITY_KINDS(ROW)                                                        \
  ROW(Port, "port", "switch port or one of its priorities: node, port, optional priority") \
  ROW(Nic, "nic", "RDMA device of a host: node, port (device name), optional priority")    \
  ROW(Gpu, "gpu", "GPU of a host: node, index; without an index, all GPUs of the host")    \
  ROW(Host, "host", "host: node")

enum class EntityKind : uint8_t {
#define ROW(id, name, sentence) k##id,
  ROCESCOPE_ENTITY_KINDS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kEntityKindCount = static_cast<size_t>(EntityKind::kCount);

// A counter only increases until its owner restarts; a gauge is a current value.
enum class MetricKind : uint8_t { kCounter, kGauge };

// name, kind, unit, description. NIC counters have the names of mlx5's hw_counters.
#define ROCESCOPE_METRICS(ROW)                                                                    \
  ROW(RxBytes, "rx_bytes", Counter, "bytes", "received, without FCS")                             \
  ROW(RxPackets, "rx_packets", Counter, "frames", "received")                                     \
  ROW(RxErrors, "rx_errors", Counter, "frames", "received with errors")                           \
  ROW(RxDiscards, "rx_discards", Counter, "frames", "received without errors but dropped")        \
  ROW(TxBytes, "tx_bytes", Counter, "bytes", "sent, without FCS")                                 \
  ROW(TxPackets, "tx_packets", Counter, "frames", "sent")                                         \
  ROW(TxErrors, "tx_errors", Counter, "frames", "not sent because of errors")                     \
  ROW(TxDiscards, "tx_discards", Counter, "frames", "dropped before transmission")                \
  ROW(FcsErrors, "fcs_errors", Counter, "frames", "received with a wrong FCS")                    \
  ROW(SymbolErrors, "symbol_errors", Counter, "events", "invalid symbols on the link")            \
  ROW(FecCorrected, "fec_corrected", Counter, "codewords",                                        \
      "received with errors that FEC corrected")                                                  \
  ROW(FecUncorrected, "fec_uncorrected", Counter, "codewords",                                    \
      "received with errors that FEC could not correct")                                          \
  ROW(LinkUp, "link_up", Gauge, "0 or 1", "whether the link is up")                               \
  ROW(AdminUp, "admin_up", Gauge, "0 or 1", "whether the port is enabled by its configuration")   \
  ROW(LinkSpeed, "link_speed", Gauge, "bit/s", "link speed")                                      \
  ROW(LinkFlaps, "link_flaps", Counter, "events", "transitions of the link to down")              \
  ROW(PfcRx, "pfc_rx", Counter, "frames",                                                         \
      "PFC frames received; they pause this port's transmission")                                 \
  ROW(PfcTx, "pfc_tx", Counter, "frames", "PFC frames sent; they pause the neighbour")            \
  ROW(PfcRxTime, "pfc_rx_time", Counter, "ns",                                                    \
      "time for which transmission was paused by received PFC")                                   \
  ROW(PfcTxTime, "pfc_tx_time", Counter, "ns",                                                    \
      "time for which the neighbour was paused by sent PFC")                                      \
  ROW(PfcWatchdog, "pfc_watchdog", Counter, "events", "PFC watchdog actions on stuck queues")     \
  ROW(EcnMarked, "ecn_marked", Counter, "packets",                                                \
      "marked CE (congestion experienced) by this port")                                          \
  ROW(QueueBytes, "queue_bytes", Gauge, "bytes", "in the egress queue now")                       \
  ROW(QueueWatermark, "queue_watermark", Gauge, "bytes",                                          \
      "maximum in the egress queue since the last reading")                                       \
  ROW(BufferWatermark, "buffer_watermark", Gauge, "bytes",                                        \
      "maximum in the ingress buffer since the last reading")                                     \
  ROW(QueueDrops, "queue_drops", Counter, "frames", "dropped because the buffer was full")        \
  ROW(TtlDrops, "ttl_drops", Counter, "packets", "dropped because their TTL expired")             \
  ROW(NoRouteDrops, "no_route_drops", Counter, "packets", "dropped because there was no route")   \
  ROW(MtuDrops, "mtu_drops", Counter, "packets", "dropped because they exceeded the MTU")         \
  ROW(CnpSent, "np_cnp_sent", Counter, "packets", "CNPs sent as notification point")              \
  ROW(CnpHandled, "rp_cnp_handled", Counter, "packets", "CNPs handled as reaction point")         \
  ROW(CnpIgnored, "rp_cnp_ignored", Counter, "packets", "CNPs received and ignored")              \
  ROW(EcnMarkedRoce, "np_ecn_marked_roce_packets", Counter, "packets", "received with a CE mark") \
  ROW(OutOfSequence, "out_of_sequence", Counter, "packets", "received out of sequence")           \
  ROW(DuplicateRequest, "duplicate_request", Counter, "packets", "duplicate requests received")   \
  ROW(PacketSequenceError, "packet_seq_err", Counter, "packets",                                  \
      "NAKs received for a PSN sequence error")                                                   \
  ROW(ImpliedNak, "implied_nak_seq_err", Counter, "events",                                       \
      "ACKs of later packets that implied a loss")                                                \
  ROW(LocalAckTimeout, "local_ack_timeout_err", Counter, "events", "ACK timeouts")                \
  ROW(RnrNakRetry, "rnr_nak_retry_err", Counter, "events", "receiver-not-ready NAKs received")    \
  ROW(OutOfBuffer, "out_of_buffer", Counter, "packets",                                           \
      "dropped because there was no receive buffer")                                              \
  ROW(IcrcErrors, "rx_icrc_encapsulated", Counter, "packets", "received with a wrong iCRC")       \
  ROW(CpuBusy, "cpu_busy", Counter, "ms", "CPU time spent busy")                                  \
  ROW(CpuIdle, "cpu_idle", Counter, "ms", "CPU time spent idle or waiting for I/O")               \
  ROW(MemoryTotal, "memory_total", Gauge, "bytes", "installed memory")                            \
  ROW(MemoryFree, "memory_free", Gauge, "bytes", "free memory")                                   \
  ROW(GpuCount, "gpu_count", Gauge, "GPUs", "GPUs of the host")                                   \
  ROW(GpuProcesses, "gpu_processes", Gauge, "processes", "compute processes on the GPUs")         \
  ROW(GpuBusy, "gpu_busy", Counter, "ms", "time with a kernel running")                           \
  ROW(GpuMemoryBusy, "gpu_memory_busy", Counter, "ms", "time with memory being read or written")  \
  ROW(GpuUtilisation, "gpu_utilisation", Gauge, "percent",                                        \
      "SM activity since the last reading, as DCGM reports it")                                   \
  ROW(GpuClock, "gpu_clock", Gauge, "Hz", "current SM clock")                                     \
  ROW(EccErrors, "ecc_errors", Counter, "errors", "volatile memory ECC errors")                   \
  ROW(Energy, "energy", Counter, "mJ", "energy consumed")                                         \
  ROW(Temperature, "temperature", Gauge, "degrees Celsius", "temperature of the hottest GPU")

enum class Metric : uint8_t {
#define ROW(id, name, kind, unit, sentence) k##id,
  ROCESCOPE_METRICS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kMetricCount = static_cast<size_t>(Metric::kCount);

struct EntityKindInfo {
  std::string_view name;
  std::string_view sentence;
};
inline constexpr std::array<EntityKindInfo, kEntityKindCount> kEntityKinds = {{
#define ROW(id, name, sentence) {name, sentence},
    ROCESCOPE_ENTITY_KINDS(ROW)
#undef ROW
}};

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view unit;
  std::string_view sentence;
};
inline constexpr std::array<MetricInfo, kMetricCount> kMetrics = {{
#define ROW(id, name, kind, unit, sentence) {name, MetricKind::k##kind, unit, sentence},
    ROCESCOPE_METRICS(ROW)
#undef ROW
}};

constexpr const MetricInfo& InfoOf(Metric metric) { return kMetrics[static_cast<size_t>(metric)]; }
constexpr const EntityKindInfo& InfoOf(EntityKind kind) {
  return kEntityKinds[static_cast<size_t>(kind)];
}

constexpr std::optional<Metric> MetricNamed(std::string_view name) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    if (kMetrics[i].name == name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}
constexpr std::optional<EntityKind> EntityKindNamed(std::string_view name) {
  for (size_t i = 0; i < kEntityKindCount; ++i) {
    if (kEntityKinds[i].name == name) return static_cast<EntityKind>(i);
  }
  return std::nullopt;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// What can be counted, and of what: one row of a table yields the enumerator, the name in
// counters.jsonl and in reports, the unit and the meaning. Values are whole numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

// name, sentence
#define ROCESCOPE_ENTITY_KINDS(ROW)                                                          \
  ROW(Port, "port", "a switch's port, or one priority of it: node, port, perhaps priority")  \
  ROW(Nic, "nic", "a host's RDMA device: node, port (the device's name), perhaps priority")  \
  ROW(Gpu, "gpu", "a host's GPU: node, index; without an index, the sum over all of a host") \
  ROW(Host, "host", "a host: node")

enum class EntityKind : uint8_t {
#define ROW(id, name, sentence) k##id,
  ROCESCOPE_ENTITY_KINDS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kEntityKindCount = static_cast<size_t>(EntityKind::kCount);

// A counter only grows, until its owner begins anew; a gauge is what is there now.
enum class MetricKind : uint8_t { kCounter, kGauge };

// name, kind, unit, sentence. NIC counters have the names that mlx5 gives them under hw_counters.
#define ROCESCOPE_METRICS(ROW)                                                                     \
  ROW(RxBytes, "rx_bytes", Counter, "bytes", "received, without frame check sequences")           \
  ROW(RxPackets, "rx_packets", Counter, "frames", "received")                                      \
  ROW(RxErrors, "rx_errors", Counter, "frames", "received broken")                                 \
  ROW(RxDiscards, "rx_discards", Counter, "frames", "received and dropped though they were whole") \
  ROW(TxBytes, "tx_bytes", Counter, "bytes", "sent, without frame check sequences")               \
  ROW(TxPackets, "tx_packets", Counter, "frames", "sent")                                          \
  ROW(TxErrors, "tx_errors", Counter, "frames", "not sent because of errors")                      \
  ROW(TxDiscards, "tx_discards", Counter, "frames", "dropped in front of the link")                \
  ROW(FcsErrors, "fcs_errors", Counter, "frames", "received with a wrong frame check sequence")    \
  ROW(SymbolErrors, "symbol_errors", Counter, "events", "invalid symbols on the link")             \
  ROW(LinkUp, "link_up", Gauge, "0 or 1", "whether the link is up")                                \
  ROW(LinkSpeed, "link_speed", Gauge, "bit/s", "what the link can carry")                          \
  ROW(LinkFlaps, "link_flaps", Counter, "events", "how often the link went down")                  \
  ROW(PfcRx, "pfc_rx", Counter, "frames", "PFC frames received: somebody stops us")                \
  ROW(PfcTx, "pfc_tx", Counter, "frames", "PFC frames sent: we stop somebody")                     \
  ROW(PfcRxTime, "pfc_rx_time", Counter, "ns", "how long we were stopped")                         \
  ROW(PfcTxTime, "pfc_tx_time", Counter, "ns", "how long we stopped somebody")                     \
  ROW(PfcWatchdog, "pfc_watchdog", Counter, "events", "queues that a watchdog freed")              \
  ROW(EcnMarked, "ecn_marked", Counter, "packets", "marked congestion experienced here")           \
  ROW(QueueBytes, "queue_bytes", Gauge, "bytes", "in the egress queue now")                       \
  ROW(QueueWatermark, "queue_watermark", Gauge, "bytes",                                          \
      "most in the egress queue since the last reading")                                           \
  ROW(BufferWatermark, "buffer_watermark", Gauge, "bytes",                                        \
      "most in the ingress buffer since the last reading")                                         \
  ROW(QueueDrops, "queue_drops", Counter, "frames", "dropped because the buffer was full")         \
  ROW(TtlDrops, "ttl_drops", Counter, "packets", "dropped because their TTL was used up")          \
  ROW(NoRouteDrops, "no_route_drops", Counter, "packets", "dropped for want of a route")           \
  ROW(MtuDrops, "mtu_drops", Counter, "packets", "dropped because they were too long")             \
  ROW(CnpSent, "np_cnp_sent", Counter, "packets", "CNPs sent, as notification point")              \
  ROW(CnpHandled, "rp_cnp_handled", Counter, "packets", "CNPs heeded, as reaction point")          \
  ROW(CnpIgnored, "rp_cnp_ignored", Counter, "packets", "CNPs received and not heeded")            \
  ROW(EcnMarkedRoce, "np_ecn_marked_roce_packets", Counter, "packets", "received marked CE")       \
  ROW(OutOfSequence, "out_of_sequence", Counter, "packets", "received out of sequence")            \
  ROW(DuplicateRequest, "duplicate_request", Counter, "packets", "requests received again")        \
  ROW(PacketSequenceError, "packet_seq_err", Counter, "packets",                                   \
      "NAKs received that tell of a sequence error")                                               \
  ROW(ImpliedNak, "implied_nak_seq_err", Counter, "events",                                        \
      "ACKs of later packets that implied a loss")                                                 \
  ROW(LocalAckTimeout, "local_ack_timeout_err", Counter, "events", "ACKs that did not come")       \
  ROW(RnrNakRetry, "rnr_nak_retry_err", Counter, "events", "receiver-not-ready NAKs received")     \
  ROW(OutOfBuffer, "out_of_buffer", Counter, "packets", "dropped for want of a receive buffer")    \
  ROW(IcrcErrors, "rx_icrc_encapsulated", Counter, "packets", "received with a wrong iCRC")        \
  ROW(CpuBusy, "cpu_busy", Counter, "ms", "processors' time not spent idle or waiting")            \
  ROW(CpuIdle, "cpu_idle", Counter, "ms", "processors' time spent idle or waiting")                \
  ROW(MemoryTotal, "memory_total", Gauge, "bytes", "memory there is")                             \
  ROW(MemoryFree, "memory_free", Gauge, "bytes", "memory not in use")                             \
  ROW(GpuCount, "gpu_count", Gauge, "GPUs", "that the host has")                                   \
  ROW(GpuProcesses, "gpu_processes", Gauge, "processes", "that compute on them")                   \
  ROW(GpuBusy, "gpu_busy", Counter, "ms", "time with a kernel running")                            \
  ROW(GpuMemoryBusy, "gpu_memory_busy", Counter, "ms", "time with memory being read or written")   \
  ROW(GpuUtilisation, "gpu_utilisation", Gauge, "per cent",                                        \
      "of the time since the last reading that it computed, waiting left out (DCGM: SM activity)") \
  ROW(GpuClock, "gpu_clock", Gauge, "Hz", "of its multiprocessors now")                            \
  ROW(EccErrors, "ecc_errors", Counter, "errors", "of memory, volatile")                           \
  ROW(Energy, "energy", Counter, "mJ", "used")                                                     \
  ROW(Temperature, "temperature", Gauge, "degrees Celsius", "of the hottest")

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

// SPDX-License-Identifier: BSD-3-Clause
// The indicators of service levels. One row of the table defines the enumerator, the name in
// reports, the layer, the unit, which direction is bad, the default bound and the meaning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

enum class ServiceLayer : uint8_t { kApplication, kCollective, kGpu, kNic, kFabric };
inline constexpr std::array<std::string_view, 5> kServiceLayerNames = {"application", "collective",
                                                                       "gpu", "nic", "fabric"};

enum class Worse : uint8_t { kHigh, kLow };
// Fixed: the number is the bound. Learnt: the bound is learnt from the entity's first windows, and
// the number is the minimum tolerated deviation as a share of their median.
enum class BoundKind : uint8_t { kFixed, kLearnt };

// Columns: enumerator, name, layer, unit, bad direction, kind of bound, number, meaning. Values are
// per analysis window.
// - Bus bandwidth is defined as in nccl-tests (doc/PERFORMANCE.md): a ring all-reduce of S bytes
//   among n ranks has busbw = S/t * 2(n-1)/n, which is the rate at which each rank sends. It is
//   therefore measured as the send rate and is comparable between collectives and sizes.
// - 85 degrees is the maximum operating temperature that nvidia-smi reports for an A100.
// - Healthy collectives also fill queues. CE marks, CNPs and busy links are therefore compared with
//   shares that healthy traffic does not exceed in consecutive windows. DCQCN sends at most one CNP
//   per flow and 50 us.
#define ROCESCOPE_SERVICE_INDICATORS(ROW)                                                      \
  ROW(IterationTime, "iteration_time", Application, "ns", High, Learnt, 0.25,                  \
      "time from the start of an iteration to the start of the next, measured on the wire")    \
  ROW(BusBandwidth, "bus_bandwidth", Collective, "bit/s", Low, Learnt, 0.25,                   \
      "bus bandwidth (as nccl-tests define it) of a rank during an iteration's collectives")   \
  ROW(IterationRate, "iteration_rate", Collective, "1/s", Low, Learnt, 0.2,                    \
      "iterations per second")                                                                 \
  ROW(Skew, "skew", Collective, "ratio", High, Fixed, 0.1,                                     \
      "delay with which the straggler enters the collectives, as a fraction of the iteration") \
  ROW(GpuUtilisationGap, "gpu_utilisation_gap", Gpu, "points", High, Fixed, 25,                \
      "difference from the median utilisation of the job's GPUs, in percentage points")        \
  ROW(GpuTemperature, "gpu_temperature", Gpu, "degrees Celsius", High, Fixed, 85,              \
      "highest GPU temperature")                                                               \
  ROW(GpuMemoryFree, "gpu_memory_free", Gpu, "ratio", Low, Fixed, 0.01,                        \
      "fraction of GPU memory that is free")                                                   \
  ROW(CnpShare, "cnp_share", Nic, "ratio", High, Fixed, 0.05, "CNPs handled per packet sent")  \
  ROW(Retransmissions, "retransmissions", Nic, "packets", High, Fixed, 0,                      \
      "sequence errors sent and received, and ACK timeouts")                                   \
  ROW(NicDiscards, "nic_discards", Nic, "frames", High, Fixed, 0,                              \
      "received frames that the NIC discarded: intact frames and frames with errors")          \
  ROW(NicPaused, "nic_paused", Nic, "ratio", High, Fixed, 0.02,                                \
      "fraction of time that PFC paused the NIC or its peer (worst priority and direction)")   \
  ROW(CeShare, "ce_share", Fabric, "ratio", High, Fixed, 0.1,                                  \
      "fraction of sent packets that the port CE-marked")                                      \
  ROW(PortPaused, "port_paused", Fabric, "ratio", High, Fixed, 0.02,                           \
      "fraction of time that PFC paused the port (worst priority)")                            \
  ROW(FramesLost, "frames_lost", Fabric, "frames", High, Fixed, 0,                             \
      "frames that the port counted as dropped or as received with errors; not silent loss")   \
  ROW(Utilisation, "utilisation", Fabric, "ratio", High, Fixed, 0.95,                          \
      "link utilisation in the busier direction")

enum class ServiceIndicator : uint8_t {
#define ROW(id, name, layer, unit, worse, kind, number, sentence) k##id,
  ROCESCOPE_SERVICE_INDICATORS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kServiceIndicatorCount = static_cast<size_t>(ServiceIndicator::kCount);

struct ServiceIndicatorInfo {
  std::string_view name;
  ServiceLayer layer;
  std::string_view unit;
  Worse worse;
  BoundKind bound;
  double number;
  std::string_view sentence;
};
inline constexpr std::array<ServiceIndicatorInfo, kServiceIndicatorCount> kServiceIndicators = {{
#define ROW(id, name, layer, unit, worse, kind, number, sentence) \
  {name, ServiceLayer::k##layer, unit, Worse::k##worse, BoundKind::k##kind, number, sentence},
    ROCESCOPE_SERVICE_INDICATORS(ROW)
#undef ROW
}};

constexpr const ServiceIndicatorInfo& InfoOf(ServiceIndicator indicator) {
  return kServiceIndicators[static_cast<size_t>(indicator)];
}
constexpr std::string_view NameOf(ServiceLayer layer) {
  return kServiceLayerNames[static_cast<size_t>(layer)];
}

}  // namespace rocescope

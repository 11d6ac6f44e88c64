// SPDX-License-Identifier: BSD-3-Clause
// What a level of service is measured by: one row of a table yields the enumerator, the name in
// reports, the layer, the unit, which side is bad, the default bound and the meaning.
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
// Fixed: the number is the bound. Learnt: from the entity's own first windows, and the number is
// the share of their median that a value may be off by at least.
enum class BoundKind : uint8_t { kFixed, kLearnt };

// name, text, layer, unit, which is bad, kind of bound, its number, sentence. Values are those of
// an analysis window.
// - Bus bandwidth is nccl-tests' (doc/PERFORMANCE.md): a ring's all-reduce of S octets among n
//   ranks has busbw = S/t * 2(n-1)/n, which is what each rank sends over t. So it is counted here,
//   and compares between collectives and sizes.
// - 85 degrees is the maximum operating temperature that nvidia-smi tells of an A100.
// - Healthy collectives fill queues too: marks, CNPs and full links are held against a share that
//   they do not exceed window after window. DCQCN sends at most a CNP per flow and 50 us.
#define ROCESCOPE_SERVICE_INDICATORS(ROW)                                                          \
  ROW(IterationTime, "iteration_time", Application, "ns", High, Learnt, 0.25,                      \
      "from an iteration's beginning to the next one's, as the wire shows it")                     \
  ROW(BusBandwidth, "bus_bandwidth", Collective, "bit/s", Low, Learnt, 0.25,                       \
      "that a member of a job sends by, over the time that an iteration's collectives take")       \
  ROW(IterationRate, "iteration_rate", Collective, "1/s", Low, Learnt, 0.2, "iterations a second") \
  ROW(Skew, "skew", Collective, "ratio", High, Fixed, 0.1,                                         \
      "how late the member enters that the others wait for, of an iteration")                      \
  ROW(GpuUtilisationGap, "gpu_utilisation_gap", Gpu, "points", High, Fixed, 25,                    \
      "between its utilisation and the median of its job's GPUs, in per cent of the time")         \
  ROW(GpuTemperature, "gpu_temperature", Gpu, "degrees Celsius", High, Fixed, 85, "the highest")   \
  ROW(GpuMemoryFree, "gpu_memory_free", Gpu, "ratio", Low, Fixed, 0.01, "of its memory")           \
  ROW(CnpShare, "cnp_share", Nic, "ratio", High, Fixed, 0.05, "CNPs heeded, of packets sent")      \
  ROW(Resends, "resends", Nic, "packets", High, Fixed, 0,                                          \
      "sequence errors told of and seen, and acknowledgements that did not come")                  \
  ROW(NicDiscards, "nic_discards", Nic, "frames", High, Fixed, 0,                                  \
      "whole ones dropped on reception, and broken ones")                                          \
  ROW(NicPaused, "nic_paused", Nic, "ratio", High, Fixed, 0.02,                                    \
      "of the time that it was stopped or stopped others, by the worst priority")                  \
  ROW(CeShare, "ce_share", Fabric, "ratio", High, Fixed, 0.1, "marked here, of packets sent")      \
  ROW(PortPaused, "port_paused", Fabric, "ratio", High, Fixed, 0.02,                               \
      "of the time that it was stopped, by the worst priority")                                    \
  ROW(FramesLost, "frames_lost", Fabric, "frames", High, Fixed, 0,                                 \
      "that the port counted as dropped or as received broken, not those lost silently")           \
  ROW(Utilisation, "utilisation", Fabric, "ratio", High, Fixed, 0.95, "of the link, the busier way")

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

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/plausible.h"

#include <array>
#include <string_view>

namespace rocescope {
namespace {

using topology::kNone;

// Links may be up to four times as fast as declared, which is two generations.
constexpr double kFaster = 4;
// IEEE 802.3: 64 bytes including the FCS, 8 of preamble, 12 between frames.
constexpr double kShortestFrame = 84;
// A host's CPU time counters are sums over all processors.
constexpr double kMaxProcessors = 65'536;
constexpr double kPriorities = 8;
// A link needs milliseconds to come up (IEEE 802.3: negotiation, training), or a hundredth of that
// in simulations with scaled time.
constexpr double kFlaps = 1e-4;
// Limit of metrics without a specific limit: 10^15 per second.
constexpr double kAnything = 1e6;

// Metrics counted where a frame waits for its link, or by a whole switch.
bool IsOfNode(Metric metric) {
  switch (metric) {
    case Metric::kTxDiscards:
    case Metric::kEcnMarked:
    case Metric::kQueueDrops:
    case Metric::kTtlDrops:
    case Metric::kNoRouteDrops:
    case Metric::kMtuDrops:
      return true;
    default:
      return false;
  }
}

// What limits the growth of a metric.
enum class Growth : uint8_t { kTime, kProcessorTime, kLinkFlaps, kBytes, kFrames, kUnlimited };

constexpr std::array<Growth, kMetricCount> kGrowths = [] {
  std::array<Growth, kMetricCount> growths{};
  for (size_t i = 0; i < kMetricCount; ++i) {
    const std::string_view unit = kMetrics[i].unit;
    growths[i] = unit == "ns"                                   ? Growth::kTime
                 : unit == "ms"                                 ? Growth::kProcessorTime
                 : i == static_cast<size_t>(Metric::kLinkFlaps) ? Growth::kLinkFlaps
                 : unit == "bytes"                              ? Growth::kBytes
                 : unit == "frames" || unit == "packets"        ? Growth::kFrames
                                                                : Growth::kUnlimited;
  }
  return growths;
}();

}  // namespace

LinkRates RatesOf(const topology::Fabric& fabric, const Entity& entity) {
  const topology::PortIndex own = entity.kind == EntityKind::kPort  ? entity.index
                                  : entity.kind == EntityKind::kNic ? fabric.nic(entity.index).port
                                                                    : kNone;
  if (own == kNone) return {};
  LinkRates rates;
  const auto rate = [&](topology::PortIndex port) {
    return static_cast<double>(fabric.SpeedOf(port)) / 8 * 1e-9;
  };
  rates.own = rate(own);
  const topology::Node& node = fabric.node(fabric.port(own).node);
  for (uint32_t i = 0; i < node.port_count; ++i) rates.node += rate(node.first_port + i);
  return rates;
}

double MostGrowthANanosecond(const Entity& entity, Metric metric, const LinkRates& rates) {
  const Growth growth = kGrowths[static_cast<size_t>(metric)];
  const bool all = entity.priority == CounterEntity::kAllPriorities;
  if (growth == Growth::kTime) return all ? kPriorities : 1;
  if (growth == Growth::kProcessorTime) return kMaxProcessors * 1e-6;
  if (growth == Growth::kLinkFlaps) return kFlaps;
  if (growth == Growth::kUnlimited || rates.own == 0) return kAnything;
  const double bytes = kFaster * (IsOfNode(metric) ? rates.node : rates.own);
  return growth == Growth::kBytes ? bytes : bytes / kShortestFrame;
}

bool IsPossibleGauge(Metric metric, uint64_t value) {
  constexpr uint64_t kTerabyte = uint64_t{1} << 40;  // no switch has a hundredth of that
  switch (metric) {
    case Metric::kLinkUp:
    case Metric::kAdminUp:
      return value <= 1;
    case Metric::kLinkSpeed:
      // 1 Mbit/s to 100 Tbit/s; 0: no speed.
      return value == 0 || (value >= 1'000'000 && value <= 100'000'000'000'000);
    case Metric::kQueueBytes:
    case Metric::kQueueWatermark:
    case Metric::kBufferWatermark:
      return value <= kTerabyte;
    case Metric::kMemoryTotal:
    case Metric::kMemoryFree:
      return value <= kTerabyte << 10;
    case Metric::kGpuCount:
    case Metric::kGpuProcesses:
      return value <= 1'000'000;
    case Metric::kGpuUtilisation:
      return value <= 100;
    case Metric::kGpuClock:
      return value >= 1'000'000 && value <= 100'000'000'000;
    case Metric::kTemperature:
      return value <= 1000;
    default:
      return true;
  }
}

}  // namespace rocescope

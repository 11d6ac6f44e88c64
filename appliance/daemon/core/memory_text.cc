// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/memory_text.h"

#include <fmt/format.h>

#include "appliance/common/config/byte_size.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// Rounded up to mebibytes.
uint64_t Mebibytes(uint64_t bytes) { return (bytes + kMebibyte - 1) / kMebibyte; }

}  // namespace

// Counters, flows and answers need at least as much memory as the topology.
std::string TopologyMemoryText(uint64_t topology, uint64_t budget) {
  if (topology <= budget / 2) return "";
  return fmt::format(
      "the topology takes {}M of the memory budget of {}, more than half: set the key `memory` to "
      "{}M or more (the budget never exceeds three quarters of the physical memory)",
      Mebibytes(topology), FormatBytes(budget), 2 * Mebibytes(topology));
}

std::string RefusedSeriesText(const MetricStatistics& counters, Timestamp now, uint64_t budget) {
  constexpr Duration kRecent = std::chrono::minutes(5);
  if (counters.series_refused == 0 || now - counters.series_refused_at > kRecent) return "";
  return fmt::format(
      "the memory budget of {} is too small for the counters: {} readings of series beyond the "
      "present {} were refused; increase the key `memory`, or divide the switches and hosts among "
      "appliances",
      FormatBytes(budget), WithThousands(counters.series_refused), WithThousands(counters.series));
}

}  // namespace rocescope

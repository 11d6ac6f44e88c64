// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/culprit.h"

#include <algorithm>
#include <unordered_map>

namespace rocescope {
namespace {

constexpr double kMost = 0.8;

void KeepMost(std::vector<Culprit>& flows) {
  uint64_t all = 0;
  for (const Culprit& flow : flows) all += flow.bytes;
  std::ranges::sort(flows, [](const Culprit& a, const Culprit& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.flow < b.flow;
  });
  uint64_t held = 0;
  size_t count = 0;
  while (count < flows.size() && static_cast<double>(held) < kMost * static_cast<double>(all)) {
    held += flows[count].bytes;
    flows[count].share = static_cast<double>(flows[count].bytes) / static_cast<double>(all);
    ++count;
  }
  flows.resize(count);
}

}  // namespace

std::vector<std::vector<Culprit>> CulpritsOf(std::span<const Hotspot> hotspots,
                                             const FlowPaths& paths) {
  std::vector<std::vector<Culprit>> culprits(hotspots.size());
  std::unordered_map<topology::PortIndex, std::vector<size_t>> at_port;
  for (size_t i = 0; i < hotspots.size(); ++i) at_port[hotspots[i].port].push_back(i);
  if (at_port.empty()) return culprits;
  for (const FlowPath& path : paths) {
    for (const PathStretch& stretch : path.stretches) {
      for (const topology::PortIndex port : stretch.certain) {
        const auto at = at_port.find(port);
        if (at == at_port.end()) continue;
        for (const size_t i : at->second) {
          const uint64_t bytes = BytesWithin(stretch, hotspots[i].from, hotspots[i].until);
          if (bytes == 0) continue;
          std::vector<Culprit>& flows = culprits[i];
          // A flow may have come by more than once.
          if (!flows.empty() && flows.back().flow == path.flow) {
            flows.back().bytes += bytes;
          } else {
            flows.push_back({.flow = path.flow, .bytes = bytes});
          }
        }
      }
    }
  }
  for (std::vector<Culprit>& flows : culprits) KeepMost(flows);
  return culprits;
}

}  // namespace rocescope

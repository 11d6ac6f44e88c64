// SPDX-License-Identifier: BSD-3-Clause
// What takes longer than it did, and by more than queues and pauses explain. The least of many
// delays has no queue in it: where that rises, the way itself has become longer; where the mean
// rises and not the least, somebody at its end takes his time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/scene.h"

namespace rocescope {

// How long frames may have waited, each port worked out once.
class Waits {
 public:
  explicit Waits(const Scene& scene) : scene_(scene) {}

  // Longest that a frame may have waited in the port's queues in each window, in ns.
  const Row& At(topology::PortIndex port);
  // The same of all the ports in a row.
  Row Over(const std::vector<topology::PortIndex>& ports);

 private:
  Row WorkOut(topology::PortIndex port) const;

  const Scene& scene_;
  std::map<topology::PortIndex, Row> known_;
};

struct Shift {
  size_t first = 0;
  size_t last = 0;
  size_t verdict = 0;
  size_t windows = 0;  // that show it
  uint32_t packets = 0;
  double by = 0;  // ns: of the least, the median over those windows
};

enum class Of : uint8_t { kLeast, kMost };

// Added latency is microseconds: less than this is clocks' grain and frames' lengths.
inline constexpr int64_t kLongerMargin = 1500;  // ns

// Windows that are shifted against the quickest that several agree on, and not many others between
// them. Least: even the least is later by more than the margin, and the latest by more than `wait`,
// of its window or the one before, explains. Most: the latest alone. `wait` and the margin in ns.
std::optional<Shift> ShiftOf(const Scene& scene, const std::vector<DelayWindow>& windows,
                             const Row& wait, Of of, int64_t margin);

Finding FindingOf(const Scene& scene, FindingKind kind, Place place, const Shift& shift);

}  // namespace rocescope

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

// By window: the longest that a frame may have waited, in ns, as far as anybody says; and whether
// the queues were read then. What waited in a switch that nobody read may have waited for any time.
struct Wait {
  explicit Wait(size_t windows) : longest(windows), is_known(windows, true) {}

  Row longest;
  std::vector<bool> is_known;
};

// How long frames may have waited, each port worked out once.
class Waits {
 public:
  explicit Waits(const Scene& scene) : scene_(scene) {}

  // In the port's queues.
  const Wait& At(topology::PortIndex port);
  // In those of all the ports in a row.
  Wait Over(const std::vector<topology::PortIndex>& ports);

 private:
  Wait WorkOut(topology::PortIndex port) const;
  bool IsRead(topology::PortIndex port, size_t window) const;

  const Scene& scene_;
  std::map<topology::PortIndex, Wait> known_;
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

// Added latency is microseconds: less than this is clocks' grain and, on fast links, frames'
// lengths.
inline constexpr int64_t kLongerMargin = 1500;  // ns

// Windows that are shifted against the quickest that several agree on, and not many others between
// them. Least: even the least is later by more than the margin, and the latest by more than `wait`,
// of its window or the one before, explains. Most: the latest alone, in windows whose wait is
// known. The margin in ns.
std::optional<Shift> ShiftOf(const Scene& scene, const std::vector<DelayWindow>& windows,
                             const Wait& wait, Of of, int64_t margin);

Finding FindingOf(const Scene& scene, FindingKind kind, Place place, const Shift& shift);

}  // namespace rocescope

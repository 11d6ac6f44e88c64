// SPDX-License-Identifier: BSD-3-Clause
// Delays that became longer than queues and pauses explain. The least of many delays contains no
// queueing delay: if it rises, the path itself is longer. If the mean rises but not the least, the
// host at its end is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/time_to_detection.h"

namespace rocescope {

// Bits of a frame with 4096 bytes of payload.
inline constexpr uint64_t kFullFrameBits = 8 * 4178;

// For each window: the longest time in ns that a frame can have waited in queues and for the end
// of pauses (by the counters), and whether the queues were read. A wait in a switch that was not
// read is unknown.
struct Wait {
  explicit Wait(size_t windows)
      : queued(windows),
        paused(windows),
        shared(windows),
        is_known(windows, true),
        may_queue(windows),
        is_congested(windows) {}

  Row queued;                   // ns in queues
  Row paused;                   // ns until the end of pauses
  Row shared;                   // ns by which most delays are longer; see SharedDelays
  std::vector<bool> is_known;   // the queues were read
  std::vector<bool> may_queue;  // a queue that was not read may have lasted: its link was busy
  // A link was busy all the time: its queue may have persisted.
  std::vector<bool> is_congested;
  size_t delays = 1;                   // measured delays of this kind, see CountDelays
  bool is_read_at_window_ends = true;  // see DiagnosisInput
  // A packet may wait several times in a queue that persists, because it is retransmitted.
  bool may_repeat = false;
};

enum class Of : uint8_t { kLeast, kMost };

// For each window, the increase in ns of the least (or second longest) delay that most paths or
// hosts share: a busy machine that receives the mirrored frames delays most of them at the same
// time. Paths are grouped by their first and by their last switch, and NICs by host, so that a
// single link or host does not count as most. 0 if too few are measured.
Row SharedDelays(const DiagnosisInput& input, DelayKind kind, Of of);

size_t CountDelays(const DiagnosisInput& input, DelayKind kind);

// Waiting times at ports; each port is computed once.
class Waits {
 public:
  explicit Waits(const DiagnosisInput& input) : input_(input) {}

  // Waiting time in the queues of a port.
  const Wait& At(topology::PortIndex port);
  // Waiting time in the queues of all these ports in a row.
  Wait Over(const std::vector<topology::PortIndex>& ports);

 private:
  Wait WorkOut(topology::PortIndex port) const;
  Row PausedTime(const Entity& entity, Metric time, Metric count, double bits_per_second) const;
  bool IsRead(topology::PortIndex port, size_t window) const;

  const DiagnosisInput& input_;
  std::map<topology::PortIndex, Wait> known_;
};

struct Shift {
  int64_t usual_least = 0;  // ns; the least delay that several windows agree on
  size_t first = 0;
  size_t last = 0;
  size_t detected_at = 0;
  size_t windows = 0;  // number of windows with the longer delay
  uint32_t packets = 0;
  double by = 0;  // ns; median over those windows of the increase of the least delay
};

// Finds windows whose delay is longer than the least delay that several windows agree on, with few
// other windows between them. The delay of a window is compared with `wait` of the window and its
// neighbours; `margin` is in ns.
// kLeast: the least delay of the window is longer by more than the margin, and its second longest
// delay by more than the wait explains.
// kMost: the second longest delay alone, in windows whose wait is known.
std::optional<Shift> ShiftOf(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
                             const Wait& wait, Of of, int64_t margin);

Finding FindingOf(const DiagnosisInput& input, FaultKind kind, Place place, const Shift& shift);

// The least duration of a longer delay that ShiftOf finds.
TimeToDetection TimeOfShift(Of of, const Thresholds& thresholds);
// The least number of windows with a longer delay. For kMost, one more: the short time in which the
// CPU of a host is busy can begin in one window and end in the next one.
uint32_t LeastLateWindows(Of of, const Thresholds& thresholds);

}  // namespace rocescope

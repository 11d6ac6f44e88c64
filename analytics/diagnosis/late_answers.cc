// SPDX-License-Identifier: BSD-3-Clause
// Round trips from a switch to a NIC and back. A longer link delays all packets; a slow host delays
// only packets that wait for it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/reordering.h"
#include "base/count_text.h"

namespace rocescope {

using topology::PortIndex;

namespace {

Finding SlowReceiver(const DiagnosisInput& input, topology::NicIndex nic, const Shift& shift) {
  Finding finding =
      FindingOf(input, FaultKind::kSlowReceiver, {.kind = PlaceKind::kNic, .index = nic}, shift);
  finding.basis = Basis::kDelays;
  return finding;
}

Finding LongerLink(const DiagnosisInput& input, PortIndex port, const Shift& shift) {
  return FindingOf(input, FaultKind::kAddedLatency,
                   {.kind = PlaceKind::kLink, .index = input.fabric().port(port).link}, shift);
}

bool IsWithin(const DiagnosisInput& input, const DelayWindow& window, const Shift& shift) {
  const size_t place = input.PlaceOf(window.window);
  return place >= shift.first && place <= shift.last;
}

// The mean delay of the windows within or outside the shift, in ns; 0 without any.
double MeanOf(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
              const Shift& shift, bool within) {
  double sum = 0;
  size_t count = 0;
  for (const DelayWindow& window : windows) {
    if (IsWithin(input, window, shift) != within) continue;
    sum += static_cast<double>(window.Mean());
    ++count;
  }
  return sum / static_cast<double>(std::max<size_t>(count, 1));
}

// Subtracts what most hosts share.
std::vector<DelayWindow> Without(const DiagnosisInput& input, const Row& shared,
                                 std::vector<DelayWindow> windows) {
  for (DelayWindow& window : windows) {
    const size_t place = input.PlaceOf(window.window);
    if (place >= shared.size()) continue;
    const auto by = static_cast<int64_t>(shared[place]);
    window.least -= by;
    window.sum -= by * static_cast<int64_t>(window.count);
  }
  return windows;
}

// Whether, in a window within the shift, even the fastest packet was late, and the mean hardly
// later. A longer link delays all packets equally; a slow host delays packets that wait behind
// others more. One window suffices, because the windows in which the delay began and ended have
// both delays. Between these two, a packet with the usual delay excludes a longer link: the queue
// of a slow host empties at times.
bool IsLongerForAll(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
                    const Shift& shift, int64_t margin) {
  const double usual = MeanOf(input, windows, shift, false);
  const bool is_quick_between = std::ranges::any_of(windows, [&](const DelayWindow& window) {
    const size_t place = input.PlaceOf(window.window);
    return place > shift.first && place < shift.last && window.least - shift.usual_least <= margin;
  });
  if (is_quick_between) return false;
  return std::ranges::any_of(windows, [&](const DelayWindow& window) {
    const int64_t by = window.least - shift.usual_least;
    return IsWithin(input, window, shift) && window.count >= input.thresholds().latency_packets &&
           by > 2 * margin &&
           static_cast<double>(by) >=
               input.thresholds().slow_host_ratio * (static_cast<double>(window.Mean()) - usual);
  });
}

}  // namespace

void DetectLateAnswers(const DiagnosisInput& input, Findings& found) {
  const topology::Fabric& fabric = input.fabric();
  const Thresholds& thresholds = input.thresholds();
  Waits waits(input);
  const Row shared_least = SharedDelays(input, DelayKind::kTurnaround, Of::kLeast);
  const Row shared_most = SharedDelays(input, DelayKind::kTurnaround, Of::kMost);
  const size_t nics = CountDelays(input, DelayKind::kTurnaround);
  const Reordering& reordered = input.reordering();
  for (const auto& [key, measured] : input.parts().delays) {
    if (key.kind != DelayKind::kTurnaround) continue;
    const PortIndex own = fabric.nic(key.to).port;
    const PortIndex port = fabric.Peer(own);
    Wait wait = waits.Over({port, own});
    wait.may_repeat = true;
    wait.delays = nics;
    const std::vector<DelayWindow> windows = Without(input, shared_least, measured);
    wait.shared = shared_least;
    const auto frame = static_cast<int64_t>(kFullFrameBits * 1'000'000'000 /
                                            std::max<uint64_t>(fabric.SpeedOf(own), 1));
    const int64_t margin =
        std::max<int64_t>(thresholds.added_latency_ns, thresholds.answer_frames * frame);
    if (const auto shift = ShiftOf(input, measured, wait, Of::kLeast, margin)) {
      // A host that receives every frame slowly increases the least delay too, but far less than
      // the mean.
      const double usual = MeanOf(input, windows, *shift, false);
      const double growth = MeanOf(input, windows, *shift, true) - usual;
      const bool is_known =
          std::all_of(wait.is_known.begin() + static_cast<ptrdiff_t>(shift->first),
                      wait.is_known.begin() + static_cast<ptrdiff_t>(shift->last) + 1,
                      [](bool is) { return is; });
      const bool is_slow = usual > 0 && is_known && shift->by < thresholds.slow_host_ratio * growth;
      if (!is_slow && input.is_spraying()) continue;
      Finding finding =
          is_slow ? SlowReceiver(input, key.to, *shift) : LongerLink(input, own, *shift);
      finding.evidence.push_back(fmt::format(
          "the round trip to {} takes {:.1f} us longer than before, even for the fastest of "
          "{} in {}",
          fabric.NameOf(own), shift->by / 1000, Counted(shift->packets, "packet"),
          Counted(shift->windows, "window")));
      found.push_back(std::move(finding));
      continue;
    }
    // If packets are sprayed or reordered, a response waits until earlier packets have arrived.
    if (input.is_spraying() || reordered.receivers.contains(key.to)) continue;
    wait.shared = shared_most;
    if (const auto shift =
            ShiftOf(input, measured, wait, Of::kMost, thresholds.late_answer_frames * frame)) {
      const bool is_longer = IsLongerForAll(input, windows, *shift, margin);
      Finding finding =
          is_longer ? LongerLink(input, own, *shift) : SlowReceiver(input, key.to, *shift);
      finding.confidence = 0.9;
      finding.evidence.push_back(
          is_longer ? fmt::format("the round trip to {} took longer for all packets of a window, "
                                  "the fastest included, and no queue explains it",
                                  fabric.NameOf(own))
                    : fmt::format("in {} it responded later than the queue in front of it explains",
                                  Counted(shift->windows, "window")));
      found.push_back(std::move(finding));
    }
  }
}

TimeToDetection TimeToDetectLateAnswers(FaultKind kind, const Thresholds& thresholds) {
  return TimeOfShift(kind == FaultKind::kSlowReceiver ? Of::kMost : Of::kLeast, thresholds);
}

}  // namespace rocescope

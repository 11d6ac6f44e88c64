// SPDX-License-Identifier: BSD-3-Clause
// Round trips from a switch to a NIC and back. A longer link delays all packets; a slow host delays
// only packets that wait for it.
#include <fmt/format.h>

#include <algorithm>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {

using topology::PortIndex;

namespace {

// Whether all packets of a window within the shift were late by the same time: nothing but a longer
// link does that. The windows in which its delay began and ended have both delays.
bool IsUniform(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
               const Shift& shift, int64_t quickest, int64_t tolerance) {
  return std::ranges::any_of(windows, [&](const DelayWindow& window) {
    const size_t place = input.PlaceOf(window.window);
    return place >= shift.first && place <= shift.last &&
           window.count >= input.thresholds().latency_packets &&
           window.next_most - window.least <= tolerance && window.least - quickest > 2 * tolerance;
  });
}

}  // namespace

void DetectLateAnswers(const DiagnosisInput& input, Findings& found) {
  const topology::Fabric& fabric = input.fabric();
  const Thresholds& thresholds = input.thresholds();
  Waits waits(input);
  for (const auto& [key, windows] : input.parts().delays) {
    if (key.kind != DelayKind::kTurnaround) continue;
    const PortIndex own = fabric.nic(key.to).port;
    const PortIndex port = fabric.Peer(own);
    Wait wait = waits.Over({port, own});
    wait.may_repeat = true;
    const auto frame = static_cast<int64_t>(kFullFrameBits * 1'000'000'000 /
                                            std::max<uint64_t>(fabric.SpeedOf(own), 1));
    const int64_t margin =
        std::max<int64_t>(thresholds.added_latency_ns, thresholds.answer_frames * frame);
    if (const auto shift = ShiftOf(input, windows, wait, Of::kLeast, margin)) {
      Finding finding =
          FindingOf(input, FaultKind::kAddedLatency,
                    {.kind = PlaceKind::kLink, .index = fabric.port(own).link}, *shift);
      finding.evidence.push_back(fmt::format(
          "the round trip to {} takes {:.1f} us longer than before, even for the fastest of "
          "{} in {}",
          fabric.NameOf(own), shift->by / 1000, Counted(shift->packets, "packet"),
          Counted(shift->windows, "window")));
      // A host that receives every frame slowly increases the least delay too, but far less than
      // the mean.
      double mean = 0;
      double usual = 0;
      size_t late = 0;
      size_t other = 0;
      for (const DelayWindow& window : windows) {
        const size_t place = input.PlaceOf(window.window);
        const bool in = place >= shift->first && place <= shift->last;
        (in ? mean : usual) += static_cast<double>(window.Mean());
        ++(in ? late : other);
      }
      mean /= static_cast<double>(std::max<size_t>(late, 1));
      usual /= static_cast<double>(std::max<size_t>(other, 1));
      const bool is_known =
          std::all_of(wait.is_known.begin() + static_cast<ptrdiff_t>(shift->first),
                      wait.is_known.begin() + static_cast<ptrdiff_t>(shift->last) + 1,
                      [](bool is) { return is; });
      if (other > 0 && is_known && shift->by < thresholds.slow_host_ratio * (mean - usual)) {
        finding.kind = FaultKind::kSlowReceiver;
        finding.place = {.kind = PlaceKind::kNic, .index = key.to};
      }
      found.push_back(std::move(finding));
      continue;
    }
    // With packet spraying, a response waits until earlier packets have arrived on other paths.
    if (input.is_spraying()) continue;
    if (const auto shift =
            ShiftOf(input, windows, wait, Of::kMost, thresholds.late_answer_frames * frame)) {
      const int64_t quickest = std::ranges::min(windows, {}, &DelayWindow::least).least;
      const bool is_longer = IsUniform(input, windows, *shift, quickest, margin);
      Finding finding =
          is_longer ? FindingOf(input, FaultKind::kAddedLatency,
                                {.kind = PlaceKind::kLink, .index = fabric.port(own).link}, *shift)
                    : FindingOf(input, FaultKind::kSlowReceiver,
                                {.kind = PlaceKind::kNic, .index = key.to}, *shift);
      finding.confidence = 0.9;
      finding.evidence.push_back(
          is_longer ? fmt::format("the round trip to {} took equally longer for all packets of a "
                                  "window, and no queue explains it",
                                  fabric.NameOf(own))
                    : fmt::format("in {} it responded later than the queue in front of it explains",
                                  Counted(shift->windows, "window")));
      found.push_back(std::move(finding));
    }
  }
}

TimeToDetection TimeToDetectLateAnswers(FaultKind /*kind*/, const Thresholds& thresholds) {
  return TimeOfShift(thresholds);
}

}  // namespace rocescope

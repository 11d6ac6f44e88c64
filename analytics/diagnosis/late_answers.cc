// SPDX-License-Identifier: BSD-3-Clause
// From its switch to a NIC and back: a longer link delays everything, a slow host what has to wait
// for it.
#include <fmt/format.h>

#include <algorithm>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {

using topology::PortIndex;

namespace {

constexpr uint64_t kFrameBits = 8 * 4178;  // of one with 4096 octets of data
// An answer that comes at once may still wait for a frame at each end, and is itself one.
constexpr int64_t kFramesOnTheWay = 3;
// Twice what a frame takes at a tenth of the link's rate.
constexpr int64_t kClearlyLate = 20;

}  // namespace

void DetectLateAnswers(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  Waits waits(scene);
  for (const auto& [key, windows] : scene.parts().delays) {
    if (key.kind != DelayKind::kTurnaround) continue;
    const PortIndex own = fabric.nic(key.to).port;
    const PortIndex port = fabric.Peer(own);
    const Wait wait = waits.Over({port, own});
    const auto frame = static_cast<int64_t>(kFrameBits * 1'000'000'000 /
                                            std::max<uint64_t>(fabric.SpeedOf(own), 1));
    const int64_t margin = std::max(kLongerMargin, kFramesOnTheWay * frame);
    if (const auto shift = ShiftOf(scene, windows, wait, Of::kLeast, margin)) {
      Finding finding =
          FindingOf(scene, FindingKind::kAddedLatency,
                    {.kind = PlaceKind::kLink, .index = fabric.port(own).link}, *shift);
      finding.evidence.push_back(fmt::format(
          "to {} and back it takes {:.1f} us longer than it did, even for the quickest of "
          "{} in {}",
          fabric.NameOf(own), shift->by / 1000, Counted(shift->packets, "packet"),
          Counted(shift->windows, "window")));
      // A host that takes every frame slowly delays the least too, but by far less than the rest.
      double mean = 0;
      double usual = 0;
      size_t late = 0;
      size_t other = 0;
      for (const DelayWindow& window : windows) {
        const size_t place = scene.PlaceOf(window.window);
        const bool in = place >= shift->first && place <= shift->last;
        (in ? mean : usual) += static_cast<double>(window.Mean());
        ++(in ? late : other);
      }
      mean /= static_cast<double>(std::max<size_t>(late, 1));
      usual /= static_cast<double>(std::max<size_t>(other, 1));
      constexpr double kMaxOfIt = 0.5;
      const bool is_known =
          std::all_of(wait.is_known.begin() + static_cast<ptrdiff_t>(shift->first),
                      wait.is_known.begin() + static_cast<ptrdiff_t>(shift->last) + 1,
                      [](bool is) { return is; });
      if (other > 0 && is_known && shift->by < kMaxOfIt * (mean - usual)) {
        finding.kind = FindingKind::kSlowReceiver;
        finding.place = {.kind = PlaceKind::kNic, .index = key.to};
      }
      found.push_back(std::move(finding));
      continue;
    }
    if (const auto shift = ShiftOf(scene, windows, wait, Of::kMost, kClearlyLate * frame)) {
      Finding finding = FindingOf(scene, FindingKind::kSlowReceiver,
                                  {.kind = PlaceKind::kNic, .index = key.to}, *shift);
      finding.confidence = 0.9;
      finding.evidence.push_back(
          fmt::format("in {} it answered later than the queue in front of it explains",
                      Counted(shift->windows, "window")));
      found.push_back(std::move(finding));
    }
  }
}

}  // namespace rocescope

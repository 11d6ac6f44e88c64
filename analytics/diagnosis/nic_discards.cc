// SPDX-License-Identifier: BSD-3-Clause
// Finds NICs that discard packets which their link delivered, because the host accepts them too
// slowly. With PFC, such a NIC pauses its switch instead (pause.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/paused_time.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

// Fewer windows can be a single event, such as a burst when a job starts.
constexpr uint64_t kDiscardWindows = 3;
constexpr double kSureOfDiscards = 0.95;
// Without a counter of packets out of sequence, the discarded packets may be of other protocols.
constexpr double kSureWithoutCounter = 0.5;

// What a NIC counts in each window.
struct NicRows {
  Row discards;
  Row arrivals;  // packets; also those that it discards
  Row losses;    // RoCE packets out of sequence; empty: not counted
};

NicRows RowsOf(const DiagnosisInput& input, NicIndex nic) {
  const PortIndex own = input.fabric().nic(nic).port;
  const PortIndex port = input.fabric().Peer(own);
  const Entity entity = input.EntityOf(own);
  NicRows rows;
  if (port == kNone || !input.HasMetric(entity, Metric::kRxDiscards)) return rows;
  // Without any counter of arrivals, the discards cannot be compared with anything.
  if (!input.HasMetric(entity, Metric::kRxPackets) &&
      !input.HasMetric(input.EntityOf(port), Metric::kTxPackets)) {
    return rows;
  }
  rows.discards = input.Growth(entity, Metric::kRxDiscards);
  rows.arrivals = input.Growth(entity, Metric::kRxPackets);
  const Row sent = input.Growth(input.EntityOf(port), Metric::kTxPackets);
  for (size_t w = 0; w < rows.arrivals.size(); ++w) {
    rows.arrivals[w] = std::max(rows.arrivals[w], sent[w]);
  }
  if (input.HasMetric(entity, Metric::kOutOfSequence)) {
    rows.losses = input.Growth(entity, Metric::kOutOfSequence);
  }
  return rows;
}

// Healthy NICs discard single frames of protocols that they do not support, LLDP for example.
bool IsSign(const DiagnosisInput& input, const NicRows& rows, size_t window) {
  const auto discards = static_cast<double>(rows.discards[window]);
  return discards >= input.thresholds().nic_discards &&
         discards >=
             input.thresholds().nic_discard_ratio * static_cast<double>(rows.arrivals[window]);
}

// Whether the NIC paused its switch for longer than normal, in these windows or next to them:
// counters are read at different times.
bool HasPaused(const DiagnosisInput& input, PortIndex port, size_t first, size_t last) {
  const auto window = static_cast<double>(input.parts().metrics.window().count());
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row paused = PausedTime(input, port, priority);
    const size_t end = std::min(last + 2, paused.size());
    for (size_t w = first - std::min<size_t>(first, 1); w < end; ++w) {
      if (static_cast<double>(paused[w]) > input.thresholds().pause_ratio * window) return true;
    }
  }
  return false;
}

// Windows with signs, without a long gap between them.
struct Discards {
  size_t first = 0;
  size_t last = 0;
  size_t detected_at = 0;
  uint64_t windows = 0;
  uint64_t discards = 0;
  uint64_t arrivals = 0;
  uint64_t losses = 0;
  uint64_t lossy_windows = 0;
};

std::vector<Discards> DiscardsOf(const DiagnosisInput& input, const NicRows& rows) {
  std::vector<Discards> episodes;
  for (size_t w = 0; w < rows.discards.size(); ++w) {
    if (!IsSign(input, rows, w)) continue;
    if (episodes.empty() || w - episodes.back().last > input.thresholds().quiet_windows) {
      episodes.push_back({.first = w});
    }
    Discards& episode = episodes.back();
    episode.last = w;
    if (++episode.windows == kDiscardWindows) episode.detected_at = w;
    episode.discards += rows.discards[w];
    episode.arrivals += rows.arrivals[w];
    if (rows.losses.empty()) continue;
    episode.losses += rows.losses[w];
    // The next reading may count what this one does not contain yet.
    episode.lossy_windows +=
        rows.losses[w] > 0 || (w + 1 < rows.losses.size() && rows.losses[w + 1] > 0);
  }
  std::erase_if(episodes, [](const Discards& e) { return e.windows < kDiscardWindows; });
  return episodes;
}

}  // namespace

void DetectNicDiscards(const DiagnosisInput& input, Findings& found) {
  for (NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const NicRows rows = RowsOf(input, nic);
    const PortIndex port = input.fabric().Peer(input.fabric().nic(nic).port);
    for (const Discards& episode : DiscardsOf(input, rows)) {
      // Each discarded packet of a connection is followed by packets out of sequence. Otherwise,
      // the discarded packets are of other protocols.
      const bool counts_losses = !rows.losses.empty();
      if (counts_losses && episode.lossy_windows < kDiscardWindows) continue;
      if (HasPaused(input, port, episode.first, episode.last)) continue;
      Finding finding = {
          .kind = FaultKind::kSlowReceiver,
          .place = {.kind = PlaceKind::kNic, .index = nic},
          .confidence = ConfidenceFromCount(episode.windows,
                                            counts_losses ? kSureOfDiscards : kSureWithoutCounter),
          .from = input.BeginOf(episode.first),
          .detected_at = input.EndOf(episode.detected_at)};
      finding.until = input.Until(episode.last);
      finding.evidence.push_back(fmt::format(
          "it discarded {} in {} ({:.2g} % of those that arrived){}",
          Counted(episode.discards, "received packet"), Counted(episode.windows, "window"),
          100 * static_cast<double>(episode.discards) /
              static_cast<double>(std::max<uint64_t>(episode.arrivals, 1)),
          counts_losses ? fmt::format(", and then counted {} out of sequence",
                                      Counted(episode.losses, "packet"))
                        : ""));
      if (episode.discards > episode.arrivals) {
        Contradict(finding, ", more than arrived: the counter of the NIC is probably wrong");
      }
      found.push_back(std::move(finding));
    }
  }
}

TimeToDetection TimeToDetectNicDiscards(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.windows = kDiscardWindows,
          .signs = fmt::format("{} discarded packets and {:.1g} % of those that arrive in each",
                               thresholds.nic_discards, 100 * thresholds.nic_discard_ratio)};
}

}  // namespace rocescope

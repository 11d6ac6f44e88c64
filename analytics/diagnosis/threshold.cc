// SPDX-License-Identifier: BSD-3-Clause
// Switches that pause or mark at other fillings than the rest, or than they did before. What is
// usual is learnt from the fabric, as nobody tells thresholds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

// A queue or buffer in one window.
struct Filling {
  NodeIndex node = kNone;
  PortIndex port = kNone;
  size_t window = 0;
  uint64_t octets = 0;  // at most
  bool acted = false;   // the switch marked, or paused
};

template <typename Visit>
void ForEachQueue(const Scene& scene, Visit visit) {
  for (PortIndex port = 0; port < scene.fabric().ports().size(); ++port) {
    if (!scene.fabric().node(scene.fabric().port(port).node).IsSwitch()) continue;
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Entity entity = scene.EntityOf(port, priority);
      if (scene.parts().metrics.Find(entity, Metric::kPfcTx) != nullptr ||
          scene.parts().metrics.Find(entity, Metric::kEcnMarked) != nullptr) {
        visit(port, entity);
      }
    }
  }
}

std::vector<Filling> FillingsOf(const Scene& scene, Metric watermark, Metric acts) {
  std::vector<Filling> fillings;
  ForEachQueue(scene, [&](PortIndex port, const Entity& entity) {
    const Row octets = scene.Readings(entity, watermark);
    const Row acted = scene.Growth(entity, acts);
    const Row held = scene.Growth(entity, Metric::kPfcRxTime);
    for (size_t w = 0; w < octets.size(); ++w) {
      if (octets[w] == 0) continue;
      // A queue that is held says nothing of marks: nothing leaves it.
      if (watermark == Metric::kQueueWatermark && held[w] > 0) continue;
      fillings.push_back({.node = scene.fabric().port(port).node,
                          .port = port,
                          .window = w,
                          .octets = octets[w],
                          .acted = acted[w] > 0});
    }
  });
  return fillings;
}

Finding FindingOf(const Scene& scene, FindingKind kind, NodeIndex node, size_t first, size_t last,
                  size_t verdict) {
  Finding finding = {.kind = kind,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = 0.9,
                     .from = scene.BeginOf(first),
                     .verdict = scene.EndOf(verdict)};
  finding.until = scene.Until(last);
  return finding;
}

// It paused when a neighbour had filled so little of the buffer that others, or it before, held
// several times as much and did not pause.
void DetectEarlyPauses(const Scene& scene, Findings& found) {
  // With a dynamic threshold, many full ports at once lower everybody's: by a factor of three with
  // sixteen of them at the usual alpha of 1/8 (Choudhury and Hahne, 1998).
  constexpr double kTooEarly = 0.3;
  const std::vector<Filling> fillings = FillingsOf(scene, Metric::kBufferWatermark, Metric::kPfcTx);
  uint64_t held = 0;  // most that did not make anybody pause
  for (const Filling& filling : fillings) {
    if (!filling.acted) held = std::max(held, filling.octets);
  }
  struct Early {
    size_t windows = 0;
    size_t first = 0;
    size_t last = 0;
    uint64_t least = std::numeric_limits<uint64_t>::max();
  };
  std::map<NodeIndex, Early> early;
  for (const Filling& filling : fillings) {
    if (!filling.acted ||
        static_cast<double>(filling.octets) >= kTooEarly * static_cast<double>(held)) {
      continue;
    }
    Early& at = early[filling.node];
    at.first = at.windows == 0 ? filling.window : std::min(at.first, filling.window);
    at.last = std::max(at.last, filling.window);
    at.least = std::min(at.least, filling.octets);
    ++at.windows;
  }
  for (const auto& [node, at] : early) {
    Finding finding =
        FindingOf(scene, FindingKind::kMisconfiguredAlpha, node, at.first, at.last, at.first);
    finding.evidence.push_back(fmt::format(
        "it paused a neighbour that had filled {} kB of its buffer; {} kB made no switch "
        "pause at other times",
        at.least / 1000, held / 1000));
    found.push_back(std::move(finding));
  }
}

// How likely a queue of such a length goes unmarked: by all other switches, and by this one before.
// Where too few were as long, shorter ones say that it is less likely still.
class Marking {
 public:
  explicit Marking(std::vector<Filling> fillings) : fillings_(std::move(fillings)) {
    std::ranges::sort(fillings_, std::ranges::greater(), &Filling::octets);
  }

  double Unmarked(NodeIndex node, size_t before, uint64_t octets) const {
    constexpr double kAlike = 0.8;
    constexpr size_t kEnough = 5;
    const auto least = static_cast<uint64_t>(kAlike * static_cast<double>(octets));
    const auto most = static_cast<uint64_t>(static_cast<double>(octets) / kAlike);
    size_t with = 0;
    size_t without = 0;
    for (const Filling& filling : fillings_) {
      if (filling.octets > most) continue;
      if (filling.octets < least && with + without >= kEnough) break;
      if (filling.node == node && filling.window >= before) continue;
      ++(filling.acted ? with : without);
    }
    return ChanceOfNone(with, without);
  }

 private:
  std::vector<Filling> fillings_;  // the longest first
};

// Long queues of a switch, one after the other without a mark.
struct Unmarked {
  DoubtRun run;
  uint64_t most = 0;  // octets
};

// Its queues grew as long as queues of others do not without marks, nor its own before.
void DetectLateMarks(const Scene& scene, Findings& found) {
  std::vector<Filling> fillings = FillingsOf(scene, Metric::kQueueWatermark, Metric::kEcnMarked);
  const Marking marking(fillings);
  uint64_t shortest = std::numeric_limits<uint64_t>::max();  // that was marked
  for (const Filling& filling : fillings) {
    if (filling.acted) shortest = std::min(shortest, filling.octets);
  }
  std::ranges::sort(fillings, {}, [](const Filling& filling) {
    return std::tuple(filling.window, filling.port, filling.octets);
  });
  std::map<NodeIndex, Unmarked> open;
  std::map<NodeIndex, Unmarked> clearest;
  const auto close = [&](NodeIndex node, const Unmarked& unmarked) {
    if (!unmarked.run.verdict()) return;
    const auto [at, is_new] = clearest.try_emplace(node, unmarked);
    if (!is_new && unmarked.run.doubt() < at->second.run.doubt()) at->second = unmarked;
  };
  for (const Filling& filling : fillings) {
    Unmarked& at = open[filling.node];
    if (filling.acted) {
      close(filling.node, at);
      at = {};
    } else if (filling.octets >= shortest) {
      const size_t first = at.run.windows() == 0 ? filling.window : at.run.first();
      at.run.Add(filling.window, marking.Unmarked(filling.node, first, filling.octets));
      at.most = std::max(at.most, filling.octets);
    }
  }
  for (const auto& [node, unmarked] : open) close(node, unmarked);
  for (const auto& [node, at] : clearest) {
    Finding finding = FindingOf(scene, FindingKind::kMisconfiguredEcn, node, at.run.first(),
                                at.run.last(), at.run.verdict().value());
    finding.evidence.push_back(
        fmt::format("its queues held up to {} kB in {} without one mark; marks begin at {} kB "
                    "elsewhere, or did here before",
                    at.most / 1000, Counted(at.run.windows(), "window"), shortest / 1000));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectThresholds(const Scene& scene, Findings& found) {
  DetectEarlyPauses(scene, found);
  DetectLateMarks(scene, found);
}

}  // namespace rocescope

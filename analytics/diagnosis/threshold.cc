// SPDX-License-Identifier: BSD-3-Clause
// Switches that pause or mark at other fillings than the rest, or than they did before. What is
// usual is learnt from the fabric, as nobody tells thresholds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "analytics/diagnosis/detectors.h"

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

// Its queue grew as long as queues of others do not without marks.
void DetectLateMarks(const Scene& scene, Findings& found) {
  std::vector<Filling> fillings = FillingsOf(scene, Metric::kQueueWatermark, Metric::kEcnMarked);
  // Nobody marks at all: ECN may not be in use.
  if (std::ranges::none_of(fillings, &Filling::acted)) return;
  std::ranges::sort(fillings, {}, &Filling::octets);
  // How likely a queue of at least such a length goes unmarked, by all others, and by this one
  // before. Where nobody was as full, shorter ones say that it is less likely still.
  const auto unmarked = [&](NodeIndex node, size_t before, uint64_t octets) {
    constexpr double kComparable = 0.8;
    constexpr size_t kEnough = 20;
    const auto least = static_cast<uint64_t>(kComparable * static_cast<double>(octets));
    double with = 0;
    double without = 0;
    for (auto at = fillings.rbegin(); at != fillings.rend(); ++at) {
      if (at->octets < least && with + without >= kEnough) break;
      if (at->node == node && at->window >= before) continue;
      ++(at->acted ? with : without);
    }
    return (without + 0.5) / (with + without + 1);
  };
  struct Late {
    double doubt = 0;  // logarithm of how likely all of it is
    size_t windows = 0;
    size_t first = 0;
    size_t last = 0;
    size_t verdict = 0;
    uint64_t most = 0;
  };
  std::map<NodeIndex, Late> late;
  std::vector<Filling> by_time = fillings;
  std::ranges::sort(by_time, {}, [](const Filling& filling) {
    return std::tuple(filling.window, filling.port, filling.octets);
  });
  // Marks begin where the shortest marked queue stood.
  const auto marked = std::ranges::find_if(fillings, &Filling::acted);
  constexpr double kClearlyMore = 2;
  constexpr double kImpossible = -9.2;  // one in ten thousand
  for (const Filling& filling : by_time) {
    if (static_cast<double>(filling.octets) < kClearlyMore * static_cast<double>(marked->octets)) {
      continue;
    }
    Late& at = late[filling.node];
    if (filling.acted) {
      if (at.doubt > kImpossible) at = {};
      continue;
    }
    if (at.windows == 0) at.first = filling.window;
    const double probability = unmarked(filling.node, at.first, filling.octets);
    if (at.doubt > kImpossible) at.verdict = filling.window;
    at.doubt += std::log(probability);
    at.last = filling.window;
    at.most = std::max(at.most, filling.octets);
    ++at.windows;
  }
  for (const auto& [node, at] : late) {
    if (at.doubt > kImpossible || at.windows < 2) continue;
    Finding finding =
        FindingOf(scene, FindingKind::kMisconfiguredEcn, node, at.first, at.last, at.verdict);
    finding.evidence.push_back(
        fmt::format("its queues held up to {} kB in {} windows without one mark; others mark from "
                    "{} kB on",
                    at.most / 1000, at.windows, marked->octets / 1000));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectThresholds(const Scene& scene, Findings& found) {
  DetectEarlyPauses(scene, found);
  DetectLateMarks(scene, found);
}

}  // namespace rocescope

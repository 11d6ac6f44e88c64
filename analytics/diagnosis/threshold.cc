// SPDX-License-Identifier: BSD-3-Clause
// Switches that pause or mark at other fillings than the rest, or than they did before. What is
// usual is learnt from the fabric, as nobody tells thresholds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
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
  uint8_t priority = 0;
  size_t window = 0;
  uint64_t bytes = 0;  // at most
  bool acted = false;   // the switch marked, or paused
};

// Of queues that tell both, in windows in which both are known.
std::vector<Filling> FillingsOf(const Scene& scene, Metric watermark, Metric acts) {
  std::vector<Filling> fillings;
  for (PortIndex port = 0; port < scene.fabric().ports().size(); ++port) {
    const NodeIndex node = scene.fabric().port(port).node;
    if (!scene.fabric().node(node).IsSwitch()) continue;
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Entity entity = scene.EntityOf(port, priority);
      if (!scene.Tells(entity, watermark) || !scene.Tells(entity, acts)) continue;
      const Row bytes = scene.Readings(entity, watermark);
      const Row acted = scene.Growth(entity, acts);
      const Row held = scene.Growth(entity, Metric::kPfcRxTime);
      for (size_t w = 0; w < bytes.size(); ++w) {
        if (bytes[w] == 0 || !scene.IsKnown(entity, acts, w)) continue;
        // A queue that is held says nothing of marks: nothing leaves it.
        if (watermark == Metric::kQueueWatermark && held[w] > 0) continue;
        fillings.push_back({.node = node,
                            .port = port,
                            .priority = priority,
                            .window = w,
                            .bytes = bytes[w],
                            .acted = acted[w] > 0});
      }
    }
  }
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

// What may be held against each other: switches of a tier are of a kind, and ports of a speed and
// priority have the same headroom.
using Alike = std::tuple<uint8_t, uint64_t, uint8_t>;

Alike AlikeOf(const topology::Fabric& fabric, const Filling& filling) {
  return {static_cast<uint8_t>(fabric.node(filling.node).tier), fabric.SpeedOf(filling.port),
          filling.priority};
}

struct Early {
  size_t windows = 0;  // from the first to the last, those with an early pause
  size_t first = 0;
  size_t second = 0;
  size_t last = 0;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  uint64_t held = 0;  // octets that made nobody pause, at most
};

// It paused when a neighbour had filled so little of the buffer that others, or it before, held
// several times as much and did not pause. Where nobody ever pauses, PFC is off: that says nothing.
void DetectEarlyPauses(const Scene& scene, Findings& found) {
  // With a dynamic threshold, many full ports at once lower everybody's: by a factor of three with
  // sixteen of them at the usual alpha of 1/8 (Choudhury and Hahne, 1998).
  constexpr double kTooEarly = 0.3;
  std::vector<Filling> fillings = FillingsOf(scene, Metric::kBufferWatermark, Metric::kPfcTx);
  std::set<uint8_t> paused;
  for (const Filling& filling : fillings) {
    if (filling.acted) paused.insert(filling.priority);
  }
  std::map<Alike, uint64_t> held;
  for (const Filling& filling : fillings) {
    if (filling.acted || !paused.contains(filling.priority)) continue;
    uint64_t& most = held[AlikeOf(scene.fabric(), filling)];
    most = std::max(most, filling.bytes);
  }
  std::ranges::sort(fillings, {}, [](const Filling& filling) {
    return std::tuple(filling.window, filling.port, filling.priority);
  });
  std::map<NodeIndex, Early> early;
  for (const Filling& filling : fillings) {
    if (!filling.acted) continue;
    const auto others = held.find(AlikeOf(scene.fabric(), filling));
    if (others == held.end() ||
        static_cast<double>(filling.bytes) >= kTooEarly * static_cast<double>(others->second)) {
      continue;
    }
    Early& at = early[filling.node];
    if (at.windows == 0) at.first = filling.window;
    if (at.windows == 0 || filling.window != at.last) ++at.windows;
    if (at.windows == 2 && at.second == 0) at.second = filling.window;
    at.last = filling.window;
    if (filling.bytes < at.least) {
      at.least = filling.bytes;
      at.held = others->second;
    }
  }
  for (const auto& [node, at] : early) {
    // Once is an accident: a watermark that was read before its pause.
    if (at.windows < 2) continue;
    Finding finding =
        FindingOf(scene, FindingKind::kMisconfiguredAlpha, node, at.first, at.last, at.second);
    finding.evidence.push_back(fmt::format(
        "it paused a neighbour that had filled {} kB of its buffer; {} kB made no switch "
        "of its tier pause at other times",
        at.least / 1000, at.held / 1000));
    found.push_back(std::move(finding));
  }
}

// How likely a queue of such a length goes unmarked: by all other switches, and by this one before.
// Where too few were as long, shorter ones say that it is less likely still.
class Marking {
 public:
  explicit Marking(const std::vector<Filling>& fillings) {
    for (const Filling& filling : fillings) {
      all_.Add(filling);
      of_node_[filling.node].Add(filling);
    }
    all_.Settle();
    for (auto& [node, one] : of_node_) one.Settle();
  }

  double Unmarked(NodeIndex node, size_t before, uint64_t bytes) const {
    constexpr double kAlike = 0.8;
    constexpr size_t kEnough = 5;
    const auto least = static_cast<uint64_t>(kAlike * static_cast<double>(bytes));
    const auto most = static_cast<uint64_t>(static_cast<double>(bytes) / kAlike);
    const Counts all = all_.Within(least, most);
    const Counts own = of_node_.at(node).Within(least, most);
    Counts counts = {.with = all.with - own.with, .without = all.without - own.without};
    if (counts.with + counts.without < kEnough)
      counts = Nearest(node, before, least, most, kEnough);
    return ChanceOfNone(counts.with, counts.without);
  }

 private:
  struct Counts {
    size_t with = 0;
    size_t without = 0;
  };

  // The longest first; how many of those in front of each were marked.
  class Ranks {
   public:
    void Add(const Filling& filling) { fillings_.push_back(filling); }
    void Settle() {
      std::ranges::sort(fillings_, std::ranges::greater(), &Filling::bytes);
      with_.assign(1, 0);
      for (const Filling& filling : fillings_) with_.push_back(with_.back() + filling.acted);
    }
    Counts Within(uint64_t least, uint64_t most) const {
      const size_t first = FirstOf(most);
      const auto behind = static_cast<size_t>(
          std::ranges::partition_point(
              fillings_, [&](const Filling& filling) { return filling.bytes >= least; }) -
          fillings_.begin());
      const size_t with = with_[behind] - with_[first];
      return {.with = with, .without = behind - first - with};
    }
    // The first that is no longer than that.
    size_t FirstOf(uint64_t most) const {
      return static_cast<size_t>(
          std::ranges::partition_point(
              fillings_, [&](const Filling& filling) { return filling.bytes > most; }) -
          fillings_.begin());
    }
    const std::vector<Filling>& fillings() const { return fillings_; }

   private:
    std::vector<Filling> fillings_;
    std::vector<size_t> with_;
  };

  // Its own before that, and shorter ones until there are enough.
  Counts Nearest(NodeIndex node, size_t before, uint64_t least, uint64_t most,
                 size_t enough) const {
    Counts counts;
    const std::vector<Filling>& fillings = all_.fillings();
    for (size_t i = all_.FirstOf(most); i < fillings.size(); ++i) {
      const Filling& filling = fillings[i];
      if (filling.bytes < least && counts.with + counts.without >= enough) break;
      if (filling.node == node && filling.window >= before) continue;
      ++(filling.acted ? counts.with : counts.without);
    }
    return counts;
  }

  Ranks all_;
  std::map<NodeIndex, Ranks> of_node_;
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
    if (filling.acted) shortest = std::min(shortest, filling.bytes);
  }
  std::ranges::sort(fillings, {}, [](const Filling& filling) {
    return std::tuple(filling.window, filling.port, filling.bytes);
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
    } else if (filling.bytes >= shortest) {
      const size_t first = at.run.windows() == 0 ? filling.window : at.run.first();
      at.run.Add(filling.window, marking.Unmarked(filling.node, first, filling.bytes));
      at.most = std::max(at.most, filling.bytes);
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

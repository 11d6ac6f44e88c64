// SPDX-License-Identifier: BSD-3-Clause
// Finds switches that pause or mark at other queue lengths than other switches, or than before.
// Normal thresholds are learnt from the fabric, because switches do not report them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
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

// Minimum number of windows with an early pause. A single one proves nothing: the watermark may
// have been read before the pause.
constexpr uint32_t kEarlyWindows = 2;
// Windows without a CE mark, if the highest length may be of another window than the traffic that
// was compared.
constexpr uint32_t kUnmarkedWindows = 4;

// Fill level of a queue or buffer in one window.
struct FillLevel {
  NodeIndex node = kNone;
  PortIndex port = kNone;
  uint8_t priority = 0;
  size_t window = 0;
  uint64_t bytes = 0;  // highest fill level in bytes
  uint64_t most = 0;   // highest, also of neighbouring windows if not read at window ends
  bool acted = false;  // the switch marked or paused
  uint64_t count = 0;  // marks or pauses in the window or, if none, in the previous one; 0 if not
                       // `acted`
  bool is_read_at_window_ends = true;
};

// Whether most of what a port sends has a CE mark already when it arrives, so that the switch has
// little to mark. The NIC behind the port counts CE marks, and the neighbours of the switch count
// those that they set on their way to it.
class MarkedBefore {
 public:
  explicit MarkedBefore(const DiagnosisInput& input) : input_(input) {}

  std::vector<bool> WindowsOf(PortIndex port, uint8_t priority) {
    const topology::Fabric& fabric = input_.fabric();
    Row marked = ByNeighbours(fabric.port(port).node, priority);
    const PortIndex peer = fabric.Peer(port);
    if (peer != kNone) {
      const Row own = input_.Growth(input_.EntityOf(peer, priority), Metric::kEcnMarked);
      // Packets from the peer do not return to it.
      for (size_t w = 0; w < marked.size(); ++w) marked[w] -= own[w];
      if (fabric.NicOf(peer) != kNone) {
        const Row received = input_.Growth(input_.EntityOf(peer), Metric::kEcnMarkedRoce);
        for (size_t w = 0; w < marked.size(); ++w) marked[w] += received[w];
      }
    }
    const Row sent = input_.Growth(input_.EntityOf(port), Metric::kTxPackets);
    std::vector<bool> before(input_.windows());
    for (size_t w = 0; w < before.size(); ++w) before[w] = 2 * marked[w] > sent[w];
    return before;
  }

 private:
  // CE marks that all neighbours of a switch set on their way to it.
  const Row& ByNeighbours(NodeIndex node, uint8_t priority) {
    const auto [at, is_new] = by_neighbours_.try_emplace({node, priority});
    if (!is_new) return at->second;
    const topology::Fabric& fabric = input_.fabric();
    Row& marked = at->second;
    marked.resize(input_.windows());
    for (const topology::Port& port : fabric.PortsOf(node)) {
      const PortIndex from = fabric.Peer(static_cast<PortIndex>(&port - fabric.ports().data()));
      if (from == kNone) continue;
      const Row row = input_.Growth(input_.EntityOf(from, priority), Metric::kEcnMarked);
      for (size_t w = 0; w < row.size(); ++w) marked[w] += row[w];
    }
    return marked;
  }

  const DiagnosisInput& input_;
  std::map<std::pair<NodeIndex, uint8_t>, Row> by_neighbours_;
};

// Whether a counter grew before the reading in window `w`. If readings are not at window ends, its
// increase is divided between this window and the `last` one, and small ones are rounded to 0 in
// one of them.
bool HasActed(const Row& acted, size_t w, size_t last) {
  constexpr uint64_t kFew = 2;
  return acted[w] > 0 || (acted[last] > 0 && acted[last] <= kFew);
}

// Returns the window behind that of the next reading, which can be two windows later: the intervals
// between readings vary.
size_t BehindNextReading(const DiagnosisInput& input, const Entity& entity, Metric metric,
                         size_t w) {
  constexpr size_t kLatest = 2;
  const size_t last = std::min(w + kLatest, input.windows() - 1);
  for (size_t next = w + 1; next <= last; ++next) {
    if (input.HasReading(entity, metric, next)) return next + 1;
  }
  return last + 1;
}

// Fill levels of queues that report both metrics, in windows in which both are known.
std::vector<FillLevel> FillLevelsOf(const DiagnosisInput& input, Metric watermark, Metric acts) {
  std::vector<FillLevel> levels;
  MarkedBefore marked_before(input);
  for (PortIndex port = 0; port < input.fabric().ports().size(); ++port) {
    const NodeIndex node = input.fabric().port(port).node;
    if (!input.fabric().node(node).IsSwitch()) continue;
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Entity entity = input.EntityOf(port, priority);
      if (!input.HasMetric(entity, watermark) || !input.HasMetric(entity, acts)) continue;
      const Row bytes = input.Readings(entity, watermark);
      const Row acted = input.Growth(entity, acts);
      // Not every switch counts the time.
      const bool has_time = input.HasMetric(entity, Metric::kPfcRxTime);
      const Row held = input.Growth(entity, has_time ? Metric::kPfcRxTime : Metric::kPfcRx);
      const std::vector<bool> before = acts == Metric::kEcnMarked
                                           ? marked_before.WindowsOf(port, priority)
                                           : std::vector<bool>(input.windows());
      const size_t spread = input.IsReadAtWindowEnds(entity, watermark) ? 0 : 1;
      const bool counts_sent = input.HasMetric(input.EntityOf(port), Metric::kTxPackets);
      const Row sent = input.Growth(input.EntityOf(port), Metric::kTxPackets);
      const Row received = input.Growth(input.EntityOf(port), Metric::kRxPackets);
      for (size_t w = 0; w < bytes.size(); ++w) {
        if (bytes[w] == 0 || !input.IsKnown(entity, acts, w)) continue;
        const size_t last = w - std::min(w, spread);
        // Counters that stand still are those of an earlier time, or the port has no traffic.
        const uint64_t traffic = sent[w] + sent[last] + received[w] + received[last];
        if (counts_sent && traffic == 0) continue;
        const bool has_acted = HasActed(acted, w, last);
        if (!has_acted && before[w]) continue;
        // A paused queue sends nothing, and therefore marks nothing.
        const bool is_held = held[w] > 0 || held[last] > 0;
        if (watermark == Metric::kQueueWatermark && is_held) continue;
        FillLevel level = {.node = node,
                           .port = port,
                           .priority = priority,
                           .window = w,
                           .bytes = bytes[w],
                           .acted = has_acted,
                           .count = !has_acted     ? 0
                                    : acted[w] > 0 ? acted[w]
                                                   : acted[last],
                           .is_read_at_window_ends = spread == 0};
        const size_t behind = spread == 0 ? w + 1 : BehindNextReading(input, entity, watermark, w);
        for (size_t near = last; near < behind; ++near) {
          level.most = std::max(level.most, bytes[near]);
        }
        levels.push_back(level);
      }
    }
  }
  return levels;
}

Finding FindingOf(const DiagnosisInput& input, FaultKind kind, NodeIndex node, size_t first,
                  size_t last, size_t detected_at) {
  Finding finding = {.kind = kind,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = 0.9,
                     .from = input.BeginOf(first),
                     .detected_at = input.EndOf(detected_at)};
  finding.until = input.Until(last);
  return finding;
}

// Only comparable queues are compared: those of switches of a tier, at ports of a speed and in a
// priority, which have the same headroom.
using Alike = std::tuple<uint8_t, uint64_t, uint8_t>;

Alike AlikeOf(const topology::Fabric& fabric, const FillLevel& level) {
  return {static_cast<uint8_t>(fabric.node(level.node).tier), fabric.SpeedOf(level.port),
          level.priority};
}

struct Early {
  size_t windows = 0;  // with an early pause
  size_t first = 0;
  size_t second = 0;
  size_t last = 0;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  uint64_t held = 0;  // most bytes that caused no pause
};

// Finds switches that paused a neighbour although it used far less buffer than other switches, or
// this one before, accepted without a pause. In a priority without any pauses PFC is off, so that
// it is ignored.
void DetectEarlyPauses(const DiagnosisInput& input, Findings& found) {
  std::vector<FillLevel> levels = FillLevelsOf(input, Metric::kBufferWatermark, Metric::kPfcTx);
  std::set<uint8_t> paused;
  for (const FillLevel& level : levels) {
    if (level.acted) paused.insert(level.priority);
  }
  std::map<Alike, uint64_t> held;
  for (const FillLevel& level : levels) {
    if (level.acted || !paused.contains(level.priority)) continue;
    uint64_t& most = held[AlikeOf(input.fabric(), level)];
    most = std::max(most, level.bytes);
  }
  std::ranges::sort(levels, {}, [](const FillLevel& level) {
    return std::tuple(level.window, level.port, level.priority);
  });
  std::map<NodeIndex, Early> early;
  for (const FillLevel& level : levels) {
    if (!level.acted) continue;
    const auto others = held.find(AlikeOf(input.fabric(), level));
    if (others == held.end() ||
        static_cast<double>(level.most) >=
            input.thresholds().early_pause_ratio * static_cast<double>(others->second)) {
      continue;
    }
    Early& at = early[level.node];
    if (at.windows == 0) at.first = level.window;
    if (at.windows == 0 || level.window != at.last) ++at.windows;
    if (at.windows == kEarlyWindows && at.second == 0) at.second = level.window;
    at.last = level.window;
    if (level.most < at.least) {
      at.least = level.most;
      at.held = others->second;
    }
  }
  for (const auto& [node, at] : early) {
    if (at.windows < kEarlyWindows) continue;
    Finding finding =
        FindingOf(input, FaultKind::kMisconfiguredAlpha, node, at.first, at.last, at.second);
    finding.evidence.push_back(fmt::format(
        "it paused a neighbour that used {} kB of its buffer; a switch of its tier held {} kB "
        "without a pause",
        at.least / 1000, at.held / 1000));
    found.push_back(std::move(finding));
  }
}

// Probability that a queue of a given length is not marked, from comparable queues of all other
// switches and of this one before. If too few of them were as long, shorter queues give an upper
// limit. The number of marks of those queues gives another one: a queue can exceed the threshold
// for a shorter time than they did.
class Marking {
 public:
  Marking(const topology::Fabric& fabric, const std::vector<FillLevel>& levels,
          const Thresholds& thresholds)
      : thresholds_(thresholds) {
    for (const FillLevel& level : levels) {
      Class& comparable = classes_[AlikeOf(fabric, level)];
      comparable.all.Add(level);
      comparable.of_node[level.node].Add(level);
    }
    for (auto& [alike, comparable] : classes_) {
      comparable.all.Settle();
      for (auto& [node, one] : comparable.of_node) one.Settle();
    }
  }

  double Unmarked(const Alike& alike, NodeIndex node, size_t before, uint64_t bytes) const {
    const Class& comparable = classes_.at(alike);
    const double similar = thresholds_.similar_queue_ratio;
    const size_t enough = thresholds_.similar_queues;
    const auto least = static_cast<uint64_t>(similar * static_cast<double>(bytes));
    const auto most = static_cast<uint64_t>(static_cast<double>(bytes) / similar);
    const Counts all = comparable.all.Within(least, most);
    const Counts own = comparable.of_node.at(node).Within(least, most);
    Counts counts = {.with = all.with - own.with,
                     .without = all.without - own.without,
                     .marks = all.marks - own.marks};
    if (counts.with + counts.without < enough) {
      counts = Nearest(comparable.all, node, before, least, most, enough);
    }
    return std::max(ChanceOfNone(counts.with, counts.without), NoneOf(counts));
  }

 private:
  struct Counts {
    size_t with = 0;
    size_t without = 0;
    uint64_t marks = 0;
  };

  // Probability of no mark if the expected number of marks varies from queue to queue: it has an
  // exponential distribution with the observed mean, and the number of marks a Poisson distribution
  // with the expected number.
  static double NoneOf(const Counts& counts) {
    if (counts.with == 0) return 1;
    return 1 / (1 + static_cast<double>(counts.marks) / static_cast<double>(counts.with));
  }

  // Queues by length, the longest first, with the numbers of marked ones and of marks before each.
  class Ranks {
   public:
    void Add(const FillLevel& level) { levels_.push_back(level); }
    void Settle() {
      std::ranges::sort(levels_, std::ranges::greater(), &FillLevel::bytes);
      with_.assign(1, 0);
      marks_.assign(1, 0);
      for (const FillLevel& level : levels_) {
        with_.push_back(with_.back() + level.acted);
        marks_.push_back(marks_.back() + level.count);
      }
    }
    Counts Within(uint64_t least, uint64_t most) const {
      const size_t first = FirstOf(most);
      const auto behind = static_cast<size_t>(
          std::ranges::partition_point(
              levels_, [&](const FillLevel& level) { return level.bytes >= least; }) -
          levels_.begin());
      const size_t with = with_[behind] - with_[first];
      return {
          .with = with, .without = behind - first - with, .marks = marks_[behind] - marks_[first]};
    }
    // Index of the first queue that is not longer than this.
    size_t FirstOf(uint64_t most) const {
      return static_cast<size_t>(
          std::ranges::partition_point(levels_,
                                       [&](const FillLevel& level) { return level.bytes > most; }) -
          levels_.begin());
    }
    const std::vector<FillLevel>& levels() const { return levels_; }

   private:
    std::vector<FillLevel> levels_;
    std::vector<size_t> with_;
    std::vector<uint64_t> marks_;
  };

  struct Class {
    Ranks all;
    std::map<NodeIndex, Ranks> of_node;
  };

  // Includes earlier queues of the switch itself, and shorter queues until there are enough.
  static Counts Nearest(const Ranks& all, NodeIndex node, size_t before, uint64_t least,
                        uint64_t most, size_t enough) {
    Counts counts;
    const std::vector<FillLevel>& levels = all.levels();
    for (size_t i = all.FirstOf(most); i < levels.size(); ++i) {
      const FillLevel& level = levels[i];
      if (level.bytes < least && counts.with + counts.without >= enough) break;
      if (level.node == node && level.window >= before) continue;
      ++(level.acted ? counts.with : counts.without);
      counts.marks += level.count;
    }
    return counts;
  }

  const Thresholds& thresholds_;
  std::map<Alike, Class> classes_;
};

// Consecutive long queues of a switch without a mark.
struct Unmarked {
  std::optional<size_t> since;  // window of the first one
  DoubtRun run;                 // of those that are long enough
  uint64_t most = 0;            // bytes
  bool is_over = false;         // a queue of the switch was marked afterwards
};

// Finds switches whose queues grow without marks to lengths at which other switches mark, or this
// one did before. Only lengths count at which practically all queues are marked: whether a shorter
// queue is marked depends on how long it lasts, so many short ones in a row may be unmarked.
void DetectLateMarks(const DiagnosisInput& input, Findings& found) {
  constexpr double kRare = 0.1;  // that a queue of such a length is not marked
  std::vector<FillLevel> levels = FillLevelsOf(input, Metric::kQueueWatermark, Metric::kEcnMarked);
  const Marking marking(input.fabric(), levels, input.thresholds());
  uint64_t shortest = std::numeric_limits<uint64_t>::max();  // shortest queue with a mark
  for (const FillLevel& level : levels) {
    if (level.acted) shortest = std::min(shortest, level.bytes);
  }
  std::ranges::sort(levels, {}, [](const FillLevel& level) {
    return std::tuple(level.window, level.port, level.bytes);
  });
  std::map<NodeIndex, Unmarked> open;
  std::map<NodeIndex, Unmarked> clearest;
  const auto close = [&](NodeIndex node, const Unmarked& unmarked) {
    if (!unmarked.run.detected_at()) return;
    const auto [at, is_new] = clearest.try_emplace(node, unmarked);
    if (!is_new && unmarked.run.doubt() < at->second.run.doubt()) at->second = unmarked;
  };
  for (const FillLevel& level : levels) {
    Unmarked& at = open[level.node];
    if (level.acted) {
      // A mark at a longer queue than those without marks fits a threshold that is too high.
      if (at.run.detected_at() && level.bytes > at.most) continue;
      at.is_over = true;
      close(level.node, at);
      at = {};
    } else if (level.bytes >= shortest) {
      if (!at.since) at.since = level.window;
      const double chance =
          marking.Unmarked(AlikeOf(input.fabric(), level), level.node, *at.since, level.bytes);
      if (chance > kRare) continue;
      at.run.Add(
          level.window, chance,
          level.is_read_at_window_ends ? uint32_t{DoubtRun::kLeastWindows} : kUnmarkedWindows);
      at.most = std::max(at.most, level.bytes);
    }
  }
  for (const auto& [node, unmarked] : open) close(node, unmarked);
  for (const auto& [node, at] : clearest) {
    Finding finding = FindingOf(input, FaultKind::kMisconfiguredEcn, node, at.run.first(),
                                at.run.last(), at.run.detected_at().value());
    // Windows without long queues are no evidence that the threshold was corrected.
    if (!at.is_over) finding.until.reset();
    finding.evidence.push_back(
        fmt::format("its queues held up to {} kB in {} without a CE mark; other switches, or this "
                    "one before, marked packets in queues of {} kB",
                    at.most / 1000, Counted(at.run.windows(), "window"), shortest / 1000));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectThresholds(const DiagnosisInput& input, Findings& found) {
  DetectEarlyPauses(input, found);
  DetectLateMarks(input, found);
}

TimeToDetection TimeToDetectThresholds(FaultKind kind, const Thresholds& thresholds) {
  if (kind == FaultKind::kMisconfiguredAlpha) {
    return {
        .windows = kEarlyWindows,
        .signs = fmt::format("a pause in each, with less than {:.0f} % of the buffer that other "
                             "queues use without a pause",
                             100 * thresholds.early_pause_ratio)};
  }
  return {
      .windows = DoubtRun::kLeastWindows,
      .interpolated_windows = kUnmarkedWindows,
      .signs = fmt::format("long queues without a CE mark; {} windows if watermarks are not read "
                           "at window ends",
                           kUnmarkedWindows)};
}

}  // namespace rocescope

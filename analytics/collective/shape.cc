// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/shape.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "base/median.h"

namespace rocescope {
namespace {

// Fraction of the duration: an opposite direction that starts later than this is a reply.
constexpr double kApartShape = 0.05;
constexpr double kBehind = 0.3;  // the same limit for certain replies
// Slots of the time line: differences below this are not measurable.
constexpr double kSlack = 0.25;
constexpr double kEqual = 1.4;  // maximum ratio of amounts that should be equal
// A few arcs may be missing because of a fault or because their flows were observed too briefly.
constexpr double kMutual = 0.9;
constexpr double kComplete = 0.85;
constexpr size_t kFewMembers = 4;  // with this many members, two trees may link every pair
constexpr double kManyTransfers = 1.5;

class Group {
 public:
  Group(std::span<const Arc> arcs, std::span<const uint32_t> host_of) : arcs_(arcs) {
    for (const Arc& arc : arcs) {
      At(arc.from).out.push_back(&arc);
      At(arc.to).in.push_back(&arc);
    }
    for (auto& [member, node] : nodes_) node.host = host_of[member];
  }

  Shape Answer() const {
    if (nodes_.size() == 2) return OfTwo();
    if (IsCycle()) return {.kind = CollectiveKind::kRing, .alternative = {}, .confidence = 0.98};
    const double mutual = Mutual();
    if (mutual < kMutual) return {};
    if (mutual == 1 && IsPipeline(kApartShape)) {
      return {.kind = CollectiveKind::kPipeline, .alternative = {}, .confidence = 0.97};
    }
    if (IsCube()) {
      return {.kind = CollectiveKind::kHalvingDoubling, .alternative = {}, .confidence = 0.97};
    }
    if (IsComplete())
      return {.kind = CollectiveKind::kAllToAll, .alternative = {}, .confidence = 0.97};
    // Two binary trees: at most about two edges per member, and equal traffic in both directions.
    if (Edges() <= 2 * nodes_.size()) {
      return {.kind = CollectiveKind::kTree, .alternative = {}, .confidence = 0.9};
    }
    return {};
  }

 private:
  struct Node {
    uint32_t host = 0;
    std::vector<const Arc*> out;
    std::vector<const Arc*> in;
  };

  Node& At(uint32_t member) { return nodes_[member]; }

  const Arc* Find(uint32_t from, uint32_t to) const {
    for (const Arc* arc : nodes_.at(from).out) {
      if (arc->to == to) return arc;
    }
    return nullptr;
  }

  size_t Edges() const { return arcs_.size() / 2; }

  bool IsCycle() const {
    for (const auto& [member, node] : nodes_) {
      if (node.out.size() != 1 || node.in.size() != 1) return false;
    }
    return arcs_.size() == nodes_.size();  // the group is connected, so it is one cycle
  }

  // Returns the share of arcs with an opposite arc.
  double Mutual() const {
    const auto count = std::ranges::count_if(
        arcs_, [this](const Arc& arc) { return Find(arc.to, arc.from) != nullptr; });
    return static_cast<double>(count) / static_cast<double>(arcs_.size());
  }

  bool IsChain() const {
    if (Edges() + 1 != nodes_.size()) return false;
    return std::ranges::all_of(nodes_, [](const auto& one) { return one.second.out.size() <= 2; });
  }

  // In a chain, data moves forward stage by stage and returns in the opposite order: each arc
  // starts and ends later than the previous one. An exchange starts in both directions at once.
  bool IsPipeline(double apart) const {
    if (!IsChain()) return false;
    const auto end =
        std::ranges::find_if(nodes_, [](const auto& one) { return one.second.out.size() == 1; });
    return IsInOrder(end->first, nodes_.size() - 1, apart) ||
           IsInOrder(OtherEnd(end->first), nodes_.size() - 1, apart);
  }

  uint32_t OtherEnd(uint32_t end) const {
    for (const auto& [member, node] : nodes_) {
      if (member != end && node.out.size() == 1) return member;
    }
    return end;
  }

  bool IsInOrder(uint32_t first, size_t steps, double apart) const {
    std::vector<const Arc*> order;
    uint32_t before = first;
    uint32_t at = first;
    for (size_t step = 0; step < steps; ++step) {
      for (const Arc* arc : nodes_.at(at).out) {
        if (arc->to == before) continue;
        order.push_back(arc);
        before = at;
        at = arc->to;
        break;
      }
    }
    for (size_t step = steps; step > 0; --step) {
      order.push_back(Find(order[step - 1]->to, order[step - 1]->from));
    }
    for (size_t i = 1; i < order.size(); ++i) {
      const double later = order[i]->onset - order[i - 1]->onset;
      const double centered = order[i]->center - order[i - 1]->center;
      if (later < -kSlack || centered < -kSlack) return false;
    }
    const Arc& out = *order.front();
    const Arc& back = *order.back();
    const double length = (out.length + back.length) / 2;
    return back.onset - out.onset > std::max(kSlack, apart * length) &&
           back.center - out.center > apart * length;
  }

  // Partners at each of log2 n distances, with half the data at each further distance.
  bool IsCube() const {
    const size_t n = nodes_.size();
    if (!std::has_single_bit(n)) return false;
    const size_t degree = static_cast<size_t>(std::bit_width(n)) - 1;
    for (const auto& [member, node] : nodes_) {
      if (node.out.size() != degree) return false;
      std::vector<double> bytes;
      for (const Arc* arc : node.out) bytes.push_back(arc->bytes);
      std::ranges::sort(bytes);
      for (size_t i = 1; i < bytes.size(); ++i) {
        const double ratio = bytes[i] / bytes[i - 1];
        if (ratio < 1.5 || ratio > 2.7) return false;
      }
    }
    return true;
  }

  bool IsComplete() const {
    double wanted = 0;
    for (const auto& [member, node] : nodes_) {
      for (const auto& [other, other_node] : nodes_) wanted += node.host != other_node.host;
    }
    const auto arcs = static_cast<double>(arcs_.size());
    if (nodes_.size() > kFewMembers) return arcs >= kComplete * wanted;
    // Trees send data in consecutive chunks.
    if (arcs < wanted || MedianTransfers() > kManyTransfers) return false;
    const auto [least, most] = std::ranges::minmax(arcs_, {}, &Arc::bytes);
    return most.bytes <= kEqual * std::max(1.0, least.bytes);
  }

  double MedianTransfers() const {
    std::vector<double> transfers;
    for (const Arc& arc : arcs_) transfers.push_back(arc.transfers);
    return UpperMedianOf(transfers);
  }

  Shape OfTwo() const {
    if (arcs_.size() != 2) return {};
    if (IsPipeline(kBehind)) {
      return {.kind = CollectiveKind::kPipeline, .alternative = {}, .confidence = 0.95};
    }
    const double transfers = (arcs_[0].transfers + arcs_[1].transfers) / 2;
    if (transfers <= 0) return {};
    if (transfers < kManyTransfers) {
      return {.kind = CollectiveKind::kAllToAll, .alternative = {}, .confidence = 0.9};
    }
    if (transfers < 3) {
      return {.kind = CollectiveKind::kRing,
              .alternative = CollectiveKind::kHalvingDoubling,
              .confidence = 0.9};
    }
    // Either microbatches that are answered one by one, or chunks that go up and down a tree. A
    // small delay between only two arcs is consistent with both.
    if (IsPipeline(kApartShape)) {
      return {.kind = CollectiveKind::kPipeline,
              .alternative = CollectiveKind::kTree,
              .confidence = 0.8};
    }
    return {.kind = CollectiveKind::kTree, .alternative = {}, .confidence = 0.8};
  }

  std::span<const Arc> arcs_;
  std::map<uint32_t, Node> nodes_;
};

}  // namespace

Shape ShapeOf(std::span<const Arc> arcs, std::span<const uint32_t> host_of) {
  if (arcs.empty()) return {};
  return Group(arcs, host_of).Answer();
}

}  // namespace rocescope

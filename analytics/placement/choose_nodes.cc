// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/placement/choose_nodes.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace rocescope {
namespace {

// Scores are compared in hundredths: smaller differences do not justify a longer distance.
constexpr int kSteps = 100;

enum Level : uint8_t { kSameLeaf, kSamePod, kSameFabric, kLevels };
// Factors in tenths. One more tier costs as much as a node with a score of 0.9: healthy nodes one
// tier away are preferred to anything worse nearby.
constexpr std::array<int, kLevels> kWorthOf = {10, 9, 8};

int StepOf(double score) { return static_cast<int>(score * kSteps + 1e-9); }

// Sufficiently good offers of one group, groups of one pod, or pods of one part of the fabric.
struct Box {
  uint32_t number = 0;
  uint64_t amount = 0;
  std::vector<const Offer*> offers;
  std::vector<Box> inner;
};

class Chooser {
 public:
  Chooser(const topology::LeafGroups& groups, std::span<const Offer> offers, uint64_t need)
      : groups_(groups), offers_(offers), need_(need) {}

  NodeChoice Choose() {
    int best = -1;
    NodeChoice choice;
    for (int step = kSteps; step >= 0 && step * kWorthOf[kSameLeaf] >= best; --step) {
      for (const Level level : {kSameLeaf, kSamePod, kSameFabric}) {
        const int value = step * kWorthOf[level];
        if (value < best || (value == best && level >= best_level_)) continue;
        std::vector<const Offer*> taken = Take(step, level);
        if (taken.empty()) continue;
        best = value;
        best_level_ = level;
        choice = ToChoice(taken, level);
      }
    }
    return choice;
  }

 private:
  static double ScoreOf(const Offer& offer, Level level) {
    const NodeRank& rank = *offer.rank;
    return level == kSameLeaf ? rank.score : level == kSamePod ? rank.beyond_leaf : rank.beyond_pod;
  }

  std::vector<Box> GroupsAt(int step, Level level) const {
    std::vector<Box> boxes(groups_.groups.size());
    for (uint32_t i = 0; i < boxes.size(); ++i) boxes[i].number = i;
    for (const Offer& offer : offers_) {
      if (StepOf(ScoreOf(offer, level)) < step) continue;
      Box& box = boxes[groups_.group_of[offer.rank->node]];
      box.offers.push_back(&offer);
      box.amount += offer.amount;
    }
    std::erase_if(boxes, [](const Box& box) { return box.amount == 0; });
    for (Box& box : boxes) {
      // Prefer partly used nodes, so that idle nodes remain whole.
      std::ranges::stable_sort(box.offers, {}, [&](const Offer* offer) {
        return std::tuple(-StepOf(ScoreOf(*offer, level)), offer->rank->free_gpus,
                          offer->rank->node);
      });
    }
    return boxes;
  }

  static std::vector<Box> Gather(std::vector<Box> boxes, std::span<const uint32_t> number_of) {
    std::vector<Box> outer;
    std::vector<size_t> place(number_of.size(), SIZE_MAX);
    for (Box& box : boxes) {
      const uint32_t number = number_of[box.number];
      if (number >= place.size()) place.resize(number + 1, SIZE_MAX);
      if (place[number] == SIZE_MAX) {
        place[number] = outer.size();
        outer.emplace_back().number = number;
      }
      Box& in = outer[place[number]];
      in.amount += box.amount;
      in.inner.push_back(std::move(box));
    }
    return outer;
  }

  // Takes the largest boxes, and the rest from the smallest box that is large enough.
  static void TakeFrom(const std::vector<Box>& boxes, uint64_t& left,
                       std::vector<const Offer*>& taken) {
    std::vector<const Box*> open;
    open.reserve(boxes.size());
    for (const Box& box : boxes) open.push_back(&box);
    std::ranges::stable_sort(open, std::ranges::greater(), &Box::amount);
    while (left > 0 && !open.empty()) {
      auto at = open.begin();
      while (at + 1 != open.end() && (*(at + 1))->amount >= left) ++at;
      // Among equal ones, the first in topology order.
      while (at != open.begin() && (*(at - 1))->amount == (*at)->amount) --at;
      TakeFrom(**at, left, taken);
      open.erase(at);
    }
  }
  static void TakeFrom(const Box& box, uint64_t& left, std::vector<const Offer*>& taken) {
    if (!box.inner.empty()) return TakeFrom(box.inner, left, taken);
    for (const Offer* offer : box.offers) {
      if (left == 0) return;
      taken.push_back(offer);
      left -= std::min<uint64_t>(left, offer->amount);
    }
  }

  std::vector<const Offer*> Take(int step, Level level) const {
    std::vector<uint32_t> pod_of;
    pod_of.reserve(groups_.groups.size());
    for (const topology::LeafGroup& group : groups_.groups) pod_of.push_back(group.pod);
    std::vector<Box> boxes = GroupsAt(step, level);
    if (level >= kSamePod) boxes = Gather(std::move(boxes), pod_of);
    if (level == kSameFabric) boxes = Gather(std::move(boxes), groups_.part_of_pod);
    std::vector<const Offer*> best;
    std::tuple<size_t, uint64_t> cost;
    for (const Box& box : boxes) {
      if (box.amount < need_) continue;
      uint64_t left = need_;
      std::vector<const Offer*> taken;
      TakeFrom(box, left, taken);
      const std::tuple<size_t, uint64_t> its = {GroupsOf(taken).size(), box.amount};
      if (!best.empty() && its >= cost) continue;
      best = std::move(taken);
      cost = its;
    }
    return best;
  }

  std::vector<uint32_t> GroupsOf(std::span<const Offer* const> taken) const {
    std::vector<uint32_t> groups;
    for (const Offer* offer : taken) groups.push_back(groups_.group_of[offer->rank->node]);
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
  }

  NodeChoice ToChoice(std::span<const Offer* const> taken, Level level) const {
    NodeChoice choice = {.score = 1};
    for (const Offer* offer : taken) {
      choice.nodes.push_back(offer->rank->node);
      choice.score = std::min(choice.score, ScoreOf(*offer, level));
    }
    choice.score *= kWorthOf[level] / 10.0;
    std::ranges::sort(choice.nodes);
    choice.distance = taken.size() == 1    ? PlacementDistance::kNode
                      : level == kSameLeaf ? PlacementDistance::kLeaf
                      : level == kSamePod  ? PlacementDistance::kPod
                                           : PlacementDistance::kFabric;
    return choice;
  }

  const topology::LeafGroups& groups_;
  const std::span<const Offer> offers_;
  const uint64_t need_;
  Level best_level_ = kLevels;
};

}  // namespace

NodeChoice ChooseNodes(const topology::LeafGroups& groups, std::span<const Offer> offers,
                       uint64_t need) {
  if (need == 0) return {};
  return Chooser(groups, offers, need).Choose();
}

}  // namespace rocescope

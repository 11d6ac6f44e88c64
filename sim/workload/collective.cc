// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace rocescope::sim {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"ring", "tree", "all_to_all",
                                                    "halving_doubling", "pipeline"};

}  // namespace

std::string_view NameOf(CollectiveKind kind) { return kNames[static_cast<size_t>(kind)]; }

Result<CollectiveKind> ParseCollectiveKind(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is no collective; known are {}", name, fmt::join(kNames, ", ")));
  }
  return static_cast<CollectiveKind>(found - kNames.begin());
}

class PlanBuilder {
 public:
  explicit PlanBuilder(uint32_t ranks) {
    plan_.ranks_ = ranks;
    plan_.involved_.resize(ranks);
  }

  static constexpr uint32_t kNothing = UINT32_MAX;

  // Waits for those of `after` that are not kNothing. Returns its number.
  uint32_t Add(uint32_t from, uint32_t to, uint64_t bytes,
               std::initializer_list<uint32_t> after = {}, SimTime delay = 0) {
    const auto number = static_cast<uint32_t>(plan_.transfers_.size());
    plan_.transfers_.push_back({.from = from,
                                .to = to,
                                .bytes = std::max<uint64_t>(1, bytes),
                                .delay = delay,
                                .waits = 0,
                                .first_dependant = 0,
                                .dependant_count = 0});
    ++plan_.involved_[from];
    ++plan_.involved_[to];
    for (const uint32_t earlier : after) WaitFor(number, earlier);
    return number;
  }
  void WaitFor(uint32_t later, uint32_t earlier) {
    if (earlier != kNothing) edges_.emplace_back(earlier, later);
  }

  Plan Build() {
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [earlier, later] : edges_) {
      Plan::Transfer& before = plan_.transfers_[earlier];
      if (before.dependant_count++ == 0) {
        before.first_dependant = static_cast<uint32_t>(plan_.dependants_.size());
      }
      plan_.dependants_.push_back(later);
      ++plan_.transfers_[later].waits;
    }
    return std::move(plan_);
  }

 private:
  Plan plan_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  // earlier, later
};

namespace {

constexpr uint32_t kNothing = PlanBuilder::kNothing;

// Patarasuk and Yuan, 2009: n-1 steps of reduce-scatter, n-1 of all-gather; in each a rank passes
// on what it received in the one before.
Plan Ring(const CollectiveOptions& options) {
  const uint32_t n = options.ranks;
  PlanBuilder builder(n);
  std::vector<uint32_t> before(n, kNothing);  // the last transfer to each rank
  for (uint32_t step = 0; step < 2 * (n - 1); ++step) {
    std::vector<uint32_t> now(n);
    for (uint32_t rank = 0; rank < n; ++rank) {
      now[(rank + 1) % n] = builder.Add(rank, (rank + 1) % n, options.bytes / n, {before[rank]});
    }
    before = std::move(now);
  }
  return builder.Build();
}

// The binary tree of NCCL's graph/trees.cc: a rank's level is its lowest set bit.
struct TreePlace {
  uint32_t parent = kNothing;
  std::array<uint32_t, 2> children = {kNothing, kNothing};
};
std::vector<TreePlace> BinaryTree(uint32_t n) {
  std::vector<TreePlace> places(n);
  for (uint32_t rank = 1; rank < n; ++rank) {
    const uint32_t bit = rank & (~rank + 1);
    uint32_t parent = (rank ^ bit) | bit << 1;
    if (parent >= n) parent = rank ^ bit;
    places[rank].parent = parent;
    auto& children = places[parent].children;
    (children[0] == kNothing ? children[0] : children[1]) = rank;
  }
  return places;
}

// Half of the data goes up and down either tree, in chunks one behind the other. The second tree is
// the first one mirrored, or shifted by one where n is odd, so that leaves of one are inner in the
// other.
Plan Tree(const CollectiveOptions& options) {
  const uint32_t n = options.ranks;
  PlanBuilder builder(n);
  const std::vector<TreePlace> places = BinaryTree(n);
  std::vector<uint32_t> up(n);
  std::vector<uint32_t> down(n);
  std::vector<uint32_t> order(n);  // children before their parents
  for (uint32_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [](uint32_t a, uint32_t b) {
    const auto level = [](uint32_t rank) { return rank == 0 ? 32 : std::countr_zero(rank); };
    return level(a) < level(b);
  });
  const uint64_t bytes = options.bytes / 2 / options.chunks;
  for (int tree = 0; tree < 2; ++tree) {
    const auto rank_of = [&](uint32_t place) {
      if (tree == 0) return place;
      return n % 2 == 0 ? n - 1 - place : (place + 1) % n;
    };
    std::fill(up.begin(), up.end(), kNothing);
    std::fill(down.begin(), down.end(), kNothing);
    for (uint32_t chunk = 0; chunk < options.chunks; ++chunk) {
      std::vector<uint32_t> now(n, kNothing);
      for (const uint32_t place : order) {
        if (places[place].parent == kNothing) continue;
        const auto& children = places[place].children;
        const auto received = [&](uint32_t child) {
          return child == kNothing ? kNothing : now[child];
        };
        now[place] = builder.Add(rank_of(place), rank_of(places[place].parent), bytes,
                                 {received(children[0]), received(children[1]), up[place]});
      }
      up = now;
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        for (const uint32_t child : places[*it].children) {
          if (child == kNothing) continue;
          const uint32_t number = builder.Add(rank_of(*it), rank_of(child), bytes, {down[child]});
          if (places[*it].parent != kNothing) {
            builder.WaitFor(number, down[*it]);
          } else {
            for (const uint32_t other : places[*it].children) {
              if (other != kNothing) builder.WaitFor(number, up[other]);
            }
          }
          down[child] = number;
        }
      }
    }
  }
  return builder.Build();
}

// Each rank sends to the next one, the one after it, and so on: so many at once.
Plan AllToAll(const CollectiveOptions& options) {
  const uint32_t n = options.ranks;
  PlanBuilder builder(n);
  std::vector<std::vector<uint32_t>> sent(n);
  for (uint32_t distance = 1; distance < n; ++distance) {
    for (uint32_t rank = 0; rank < n; ++rank) {
      const uint32_t before =
          distance > options.at_once ? sent[rank][distance - 1 - options.at_once] : kNothing;
      sent[rank].push_back(builder.Add(rank, (rank + distance) % n, options.bytes / n, {before}));
    }
  }
  return builder.Build();
}

// Thakur, Rabenseifner and Gropp, 2005: partners at half the distance and half the data each step,
// then back.
Plan HalvingDoubling(const CollectiveOptions& options) {
  const uint32_t n = options.ranks;
  PlanBuilder builder(n);
  const uint32_t steps = static_cast<uint32_t>(std::bit_width(n)) - 1;
  std::vector<uint32_t> before(n, kNothing);
  for (uint32_t step = 0; step < 2 * steps; ++step) {
    const uint32_t level = step < steps ? step : 2 * steps - 1 - step;
    std::vector<uint32_t> now(n);
    for (uint32_t rank = 0; rank < n; ++rank) {
      const uint32_t partner = rank ^ (n >> (level + 1));
      now[partner] = builder.Add(rank, partner, options.bytes >> (level + 1), {before[rank]});
    }
    before = std::move(now);
  }
  return builder.Build();
}

// Huang et al., GPipe, 2019: all microbatches forward, then all back.
Plan Pipeline(const CollectiveOptions& options) {
  const uint32_t n = options.ranks;
  PlanBuilder builder(n);
  const uint64_t bytes = options.bytes / options.microbatches;
  std::vector<uint32_t> last_forward(options.microbatches);
  std::vector<uint32_t> before(n, kNothing);  // by stage: the microbatch before
  for (uint32_t batch = 0; batch < options.microbatches; ++batch) {
    uint32_t arrived = kNothing;
    for (uint32_t stage = 0; stage + 1 < n; ++stage) {
      arrived = builder.Add(stage, stage + 1, bytes, {arrived, before[stage]}, options.compute);
      before[stage] = arrived;
    }
    last_forward[batch] = arrived;
  }
  std::fill(before.begin(), before.end(), kNothing);
  for (uint32_t batch = 0; batch < options.microbatches; ++batch) {
    uint32_t arrived = last_forward[batch];
    for (uint32_t stage = n - 1; stage > 0; --stage) {
      arrived = builder.Add(stage, stage - 1, bytes, {arrived, before[stage]}, options.compute);
      before[stage] = arrived;
    }
  }
  return builder.Build();
}

}  // namespace

Result<Plan> MakePlan(const CollectiveOptions& options) {
  if (options.ranks < 2) {
    return MakeError(ErrorCode::kInvalidArgument, "a collective needs at least two ranks");
  }
  switch (options.kind) {
    case CollectiveKind::kRing:
      return Ring(options);
    case CollectiveKind::kTree:
      return Tree(options);
    case CollectiveKind::kAllToAll:
      return AllToAll(options);
    case CollectiveKind::kHalvingDoubling:
      if (!std::has_single_bit(options.ranks)) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("halving and doubling needs a power of two of ranks, not {}",
                                     options.ranks));
      }
      return HalvingDoubling(options);
    case CollectiveKind::kPipeline:
      return Pipeline(options);
  }
  return MakeError(ErrorCode::kInternal, "no such collective");
}

}  // namespace rocescope::sim

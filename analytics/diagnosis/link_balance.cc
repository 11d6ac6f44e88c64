// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/link_balance.h"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "analytics/diagnosis/sum_windows.h"

namespace rocescope {

int64_t MostUnderWay(const Scene& scene, topology::PortIndex sender, double frames, double bytes) {
  const topology::Link& link = scene.fabric().link(scene.fabric().port(sender).link);
  const double on_the_way = static_cast<double>(link.delay.count()) * 1e-9 *
                            static_cast<double>(link.bits_per_second) / 8;
  return static_cast<int64_t>(std::ceil(on_the_way / (bytes / frames))) + 2;
}

Balance LinkBalance(const Scene& scene, topology::PortIndex sender, topology::PortIndex receiver) {
  const Entity from = scene.EntityOf(sender);
  const Entity to = scene.EntityOf(receiver);
  if (!scene.AreSimultaneous(from, Metric::kTxPackets, to, Metric::kRxPackets)) return {};
  const Row sent = scene.Growth(from, Metric::kTxPackets);
  const Row bytes = scene.Growth(from, Metric::kTxBytes);
  const Row received = scene.Growth(to, Metric::kRxPackets);
  const Row broken = scene.Growth(to, Metric::kFcsErrors);
  Balance balance{.missing = std::vector<int64_t>(scene.windows()),
                  .busy = std::vector<double>(scene.windows())};
  const SumWindows windows = SumWindowsOf(
      scene, std::array{Counter(from, Metric::kTxPackets), Counter(to, Metric::kRxPackets)});
  const double bytes_a_window = scene.BytesAWindow(sender);
  int64_t sum = 0;
  double frames = 0;
  double bytes = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    sum += static_cast<int64_t>(sent[i]) - static_cast<int64_t>(received[i] + broken[i]);
    balance.missing[i] = windows.read[i] ? sum : Balance::kUnread;
    if (!windows.known[i]) {
      balance.missing[i] = Balance::kUnread;
      balance.unknown.push_back(i);
      sum = 0;
    }
    balance.busy[i] = static_cast<double>(bytes[i]) / bytes_a_window;
    frames += static_cast<double>(sent[i]);
    bytes += static_cast<double>(bytes[i]);
  }
  if (frames == 0 || bytes == 0) return {};
  balance.full.assign(scene.windows(), MostUnderWay(scene, sender, frames, bytes));
  return balance;
}

Balances LinkBalances(const Scene& scene) {
  std::vector<Balance> ways;
  for (const topology::Link& link : scene.fabric().links()) {
    for (size_t end = 0; end < 2; ++end) {
      ways.push_back(LinkBalance(scene, link.ends[end], link.ends[1 - end]));
    }
  }
  return Balances(std::move(ways));
}

std::vector<bool> SharedByMost(const Scene& scene, const Balances& ways,
                               const std::vector<bool>& marked) {
  constexpr size_t kFew = 4;  // may have the same fault at once
  struct Count {
    size_t marked = 0;
    size_t told = 0;
  };
  const topology::Fabric& fabric = scene.fabric();
  std::map<std::pair<topology::Tier, topology::Tier>, Count> counts;
  const auto count_of = [&](topology::LinkIndex link, size_t end) -> Count& {
    const auto tier_of = [&](size_t of) {
      return fabric.node(fabric.port(fabric.link(link).ends[of]).node).tier;
    };
    return counts[{tier_of(end), tier_of(1 - end)}];
  };
  const auto for_each = [&](auto visit) {
    for (topology::LinkIndex link = 0; link < fabric.links().size(); ++link) {
      for (size_t end = 0; end < 2; ++end) visit(PathOf(link, end), count_of(link, end));
    }
  };
  for_each([&](size_t way, Count& count) {
    count.told += !ways.At(way).missing.empty();
    count.marked += marked[way];
  });
  std::vector<bool> shared(marked.size());
  for_each([&](size_t way, const Count& count) {
    shared[way] = marked[way] && count.marked > kFew && count.marked * 2 > count.told;
  });
  return shared;
}

}  // namespace rocescope

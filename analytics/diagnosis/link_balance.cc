// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/link_balance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analytics/diagnosis/sum_windows.h"
#include "analytics/diagnosis/switch_balance.h"
#include "analytics/diagnosis/unusable_counters.h"

namespace rocescope {

namespace {

// Bytes on the way between two ports while the sender sends without pause.
double BytesOnTheWay(const DiagnosisInput& input, topology::PortIndex sender) {
  const topology::Link& link = input.fabric().link(input.fabric().port(sender).link);
  return static_cast<double>(link.delay.count()) * 1e-9 *
         static_cast<double>(link.bits_per_second) / 8;
}

struct Volume {
  double frames = 0;
  double bytes = 0;

  void Add(uint64_t more_frames, uint64_t more_bytes) {
    frames += static_cast<double>(more_frames);
    bytes += static_cast<double>(more_bytes);
  }
};

}  // namespace

int64_t MaxInFlight(const DiagnosisInput& input, topology::PortIndex sender, double frames,
                    double bytes) {
  return static_cast<int64_t>(std::ceil(BytesOnTheWay(input, sender) / (bytes / frames))) + 2;
}

int64_t FullOf(const Balance& balance) {
  return balance.full.empty() ? 0 : *std::ranges::max_element(balance.full);
}

int64_t FarOff(const DiagnosisInput& input, const Balance& balance) {
  return input.thresholds().crossed_link_factor * FullOf(balance);
}

Balance LinkBalance(const DiagnosisInput& input, topology::PortIndex sender,
                    topology::PortIndex receiver) {
  const Entity from = input.EntityOf(sender);
  const Entity to = input.EntityOf(receiver);
  if (!input.AreSimultaneous(from, Metric::kTxPackets, to, Metric::kRxPackets) ||
      !AreUsable(input, sender, receiver)) {
    return {};
  }
  const Row sent = input.Growth(from, Metric::kTxPackets);
  const Row bytes = input.Growth(from, Metric::kTxBytes);
  const Row received = input.Growth(to, Metric::kRxPackets);
  const Row received_bytes = input.Growth(to, Metric::kRxBytes);
  const Row errored = input.Growth(to, input.ErrorMetricOf(to));
  Balance balance{.missing = std::vector<int64_t>(input.windows()),
                  .busy = std::vector<double>(input.windows())};
  const SumWindows windows = SumWindowsOf(
      input, std::array{Counter(from, Metric::kTxPackets), Counter(to, Metric::kRxPackets)});
  const double bytes_a_window = input.BytesPerWindow(sender);
  int64_t sum = 0;
  std::vector<int64_t> missing_bytes(input.windows());
  int64_t sum_of_bytes = 0;
  Volume of_sender;
  Volume of_receiver;
  for (size_t i = 0; i < sent.size(); ++i) {
    sum += static_cast<int64_t>(sent[i]) - static_cast<int64_t>(received[i] + errored[i]);
    balance.missing[i] = windows.read[i] ? sum : Balance::kUnread;
    sum_of_bytes += static_cast<int64_t>(bytes[i]) - static_cast<int64_t>(received_bytes[i]);
    missing_bytes[i] = sum_of_bytes;
    if (!windows.known[i]) {
      balance.missing[i] = Balance::kUnread;
      balance.unknown.push_back(i);
      sum = sum_of_bytes = 0;
    }
    balance.busy[i] = static_cast<double>(bytes[i]) / bytes_a_window;
    of_sender.Add(sent[i], bytes[i]);
    of_receiver.Add(received[i], received_bytes[i]);
  }
  // Frames that arrive although the sender sends nothing come from elsewhere.
  const Volume& volume = of_sender.frames > 0 ? of_sender : of_receiver;
  if (volume.frames == 0 || volume.bytes == 0) return {};
  balance.full.assign(input.windows(), MaxInFlight(input, sender, volume.frames, volume.bytes));
  // More frames than these are on the way if they are shorter than usual, as their bytes show.
  const double most = BytesOnTheWay(input, sender) + 2 * volume.bytes / volume.frames;
  for (size_t i = 0; i < missing_bytes.size(); ++i) {
    if (balance.missing[i] == Balance::kUnread || balance.missing[i] <= balance.full[i]) continue;
    const auto least = static_cast<int64_t>(kShortestFrame) * balance.missing[i];
    if (missing_bytes[i] < least || static_cast<double>(missing_bytes[i]) > most) continue;
    balance.full[i] = balance.missing[i];
  }
  return balance;
}

Balances LinkBalances(const DiagnosisInput& input) {
  std::vector<Balance> ways;
  for (const topology::Link& link : input.fabric().links()) {
    for (size_t end = 0; end < 2; ++end) {
      ways.push_back(LinkBalance(input, link.ends[end], link.ends[1 - end]));
    }
  }
  return Balances(std::move(ways));
}

std::vector<bool> SharedByMost(const DiagnosisInput& input, const std::vector<bool>& marked) {
  const size_t few = input.thresholds().shared_mismatch_links;
  struct Count {
    size_t marked = 0;
    size_t counted = 0;  // at both ends
  };
  const topology::Fabric& fabric = input.fabric();
  // A group has the directions between two tiers, or between a node and a tier.
  enum class Group : uint8_t { kTiers, kSender, kReceiver };
  std::map<std::tuple<Group, uint32_t, uint32_t>, Count> counts;
  const auto counts_of = [&](size_t way) {
    const auto& ends = fabric.link(static_cast<topology::LinkIndex>(way / 2)).ends;
    const topology::NodeIndex sender = fabric.port(ends[way % 2]).node;
    const topology::NodeIndex receiver = fabric.port(ends[1 - way % 2]).node;
    const auto from = static_cast<uint32_t>(fabric.node(sender).tier);
    const auto to = static_cast<uint32_t>(fabric.node(receiver).tier);
    return std::array{&counts[{Group::kTiers, from, to}], &counts[{Group::kSender, sender, to}],
                      &counts[{Group::kReceiver, from, receiver}]};
  };
  for (size_t way = 0; way < marked.size(); ++way) {
    const auto& ends = fabric.link(static_cast<topology::LinkIndex>(way / 2)).ends;
    const bool is_counted = input.HasMetric(input.EntityOf(ends[way % 2]), Metric::kTxPackets) &&
                            input.HasMetric(input.EntityOf(ends[1 - way % 2]), Metric::kRxPackets);
    for (Count* count : counts_of(way)) {
      count->counted += is_counted;
      count->marked += marked[way];
    }
  }
  std::vector<bool> shared(marked.size());
  for (size_t way = 0; way < marked.size(); ++way) {
    shared[way] = marked[way] && std::ranges::any_of(counts_of(way), [&](const Count* count) {
                    return count->marked > few && count->marked * 2 > count->counted;
                  });
  }
  return shared;
}

}  // namespace rocescope

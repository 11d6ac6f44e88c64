// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/link_balance.h"

#include <array>
#include <cmath>

#include "analytics/diagnosis/sum_windows.h"

namespace rocescope {

Balance LinkBalance(const Scene& scene, topology::PortIndex sender, topology::PortIndex receiver) {
  const Entity from = scene.EntityOf(sender);
  const Entity to = scene.EntityOf(receiver);
  if (!scene.AreSimultaneous(from, Metric::kTxPackets, to, Metric::kRxPackets)) return {};
  const topology::Link& link = scene.fabric().link(scene.fabric().port(sender).link);
  const Row sent = scene.Growth(from, Metric::kTxPackets);
  const Row octets = scene.Growth(from, Metric::kTxBytes);
  const Row received = scene.Growth(to, Metric::kRxPackets);
  const Row broken = scene.Growth(to, Metric::kFcsErrors);
  Balance balance{.missing = std::vector<int64_t>(scene.windows()),
                  .busy = std::vector<double>(scene.windows())};
  const SumWindows windows = SumWindowsOf(
      scene, std::array{Counter(from, Metric::kTxPackets), Counter(to, Metric::kRxPackets)});
  const double octets_a_window = scene.OctetsAWindow(sender);
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
    balance.busy[i] = static_cast<double>(octets[i]) / octets_a_window;
    frames += static_cast<double>(sent[i]);
    bytes += static_cast<double>(octets[i]);
  }
  if (frames == 0) return {};
  const double on_the_way = static_cast<double>(link.delay.count()) * 1e-9 *
                            static_cast<double>(link.bits_per_second) / 8;
  balance.full.assign(scene.windows(),
                      static_cast<int64_t>(std::ceil(on_the_way / (bytes / frames))) + 2);
  return balance;
}

}  // namespace rocescope

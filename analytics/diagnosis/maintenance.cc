// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/maintenance.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "analytics/diagnosis/loss_signs.h"
#include "analytics/diagnosis/thresholds.h"

namespace rocescope {

namespace {

constexpr size_t kEnds = 2;  // the first and the last window of an outage
// Switches without jobs still carry some traffic. Their links are idle if they never carry more
// than this fraction of the line rate.
constexpr double kIdle = 1e-3;
constexpr double kFrameBytes = 1000;

// Windows in which the switch reported that the link of a NIC is down. Devices are read at
// different times: in the first and the last window, the NIC may have been up.
std::vector<size_t> WindowsDown(const DiagnosisInput& input, topology::NicIndex nic,
                                const LinkHistory& history) {
  const Entity peer = input.EntityOf(input.fabric().Peer(input.fabric().nic(nic).port));
  const Row up = input.Levels(peer, Metric::kLinkUp);
  std::vector<size_t> down;
  for (size_t i = history.first; i < history.behind && i < up.size(); ++i) {
    if (up[i] == 0 && input.HasReading(peer, Metric::kLinkUp, i)) down.push_back(i);
  }
  if (down.size() > kEnds) down = {down.begin() + 1, down.end() - 1};
  return down;
}

// What the neighbours of a switch send to it at a time, compared with before.
struct Traffic {
  uint64_t before = 0;  // each link in its busiest window before; frames
  uint64_t then = 0;    // frames in the window
};

Traffic TrafficFrom(const DiagnosisInput& input, topology::PortIndex neighbour, size_t window) {
  const size_t before = input.thresholds().drain_baseline_windows;
  const Row sent = input.Growth(input.EntityOf(neighbour), Metric::kTxPackets);
  uint64_t most = 0;
  for (size_t i = window - std::min(window, before); i < window; ++i) {
    most = std::max(most, sent[i]);
  }
  return {.before = most, .then = sent[window]};
}

void Add(const Traffic& more, Traffic& traffic) {
  traffic.before += more.before;
  traffic.then += more.then;
}

bool HasFallen(const Traffic& traffic, double least) {
  return static_cast<double>(traffic.then) < least * static_cast<double>(traffic.before);
}

Traffic TrafficOf(const DiagnosisInput& input, topology::NodeIndex node, size_t window) {
  const topology::Fabric& fabric = input.fabric();
  Traffic traffic;
  for (const topology::Port& port : fabric.PortsOf(node)) {
    if (port.link == topology::kNone) continue;
    const auto here = static_cast<topology::PortIndex>(&port - fabric.ports().data());
    Add(TrafficFrom(input, fabric.Peer(here), window), traffic);
  }
  return traffic;
}

// Whether most other switches of the tier carried traffic in a window in which this one carried
// none, up to the one in which it went down. All of them are idle between the phases of jobs.
bool MostOthersCarriedTraffic(const DiagnosisInput& input, topology::NodeIndex node,
                              size_t window) {
  constexpr size_t kMost = 16;  // windows
  const topology::Fabric& fabric = input.fabric();
  const Thresholds& thresholds = input.thresholds();
  for (size_t w = window; w > 0 && w + kMost > window; --w) {
    if (w < window && !HasFallen(TrafficOf(input, node, w), thresholds.drained_ratio)) return false;
    size_t others = 0;
    size_t fallen = 0;
    for (topology::NodeIndex other = 0; other < fabric.nodes().size(); ++other) {
      if (other == node || !fabric.node(other).IsSwitch()) continue;
      if (fabric.node(other).tier != fabric.node(node).tier) continue;
      ++others;
      fallen += HasFallen(TrafficOf(input, other, w), thresholds.similar_drop_ratio);
    }
    if (others > 0 && 2 * fallen < others) return true;
  }
  return false;
}

struct NicTraffic {
  Row frames;           // that the NICs of a leaf exchanged with it, by window
  double capacity = 0;  // frames per window, in one direction
};

NicTraffic TrafficOfNics(const DiagnosisInput& input, topology::NodeIndex leaf) {
  NicTraffic traffic = {.frames = Row(input.windows())};
  for (const topology::Port& port : input.fabric().PortsOf(leaf)) {
    if (port.link == topology::kNone) continue;
    const auto own = static_cast<topology::PortIndex>(&port - input.fabric().ports().data());
    if (input.fabric().node(input.fabric().PeerNode(own)).IsSwitch()) continue;
    for (const Metric metric : {Metric::kRxPackets, Metric::kTxPackets}) {
      const Row row = input.Growth(input.EntityOf(own), metric);
      for (size_t w = 0; w < row.size(); ++w) traffic.frames[w] += row[w];
    }
    traffic.capacity += input.BytesPerWindow(own) / kFrameBytes;
  }
  return traffic;
}

// Whether jobs used the NICs of a leaf until it went down in `window`: they had not been idle for
// clearly longer than between the phases of the jobs before. Nobody drains a leaf under a job.
bool AreNicsInUse(const DiagnosisInput& input, topology::NodeIndex leaf, size_t window) {
  constexpr size_t kLonger = 2;  // windows; the last readings before an outage are missing
  constexpr size_t kFewest = 3;  // windows with traffic
  const auto [frames, capacity] = TrafficOfNics(input, leaf);
  const auto most = static_cast<double>(
      *std::max_element(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(window) + 1));
  const double idle = std::max(input.thresholds().drained_ratio * most, kIdle * capacity);
  size_t busy = 0;
  size_t now = 0;      // windows without traffic up to now
  size_t longest = 0;  // between windows with traffic
  for (size_t w = 0; w <= window; ++w) {
    if (static_cast<double>(frames[w]) <= idle) {
      ++now;
      continue;
    }
    if (busy > 0) longest = std::max(longest, now);
    ++busy;
    now = 0;
  }
  return busy >= kFewest && now <= longest + kLonger;
}

// The windows in which losses are noticed when a switch goes down, both included.
struct NoticeWindows {
  size_t first = 0;
  size_t last = 0;
};

NoticeWindows NoticeWindowsOf(const SwitchOutage& outage, size_t windows) {
  constexpr size_t kNoticed = 3;  // windows until a loss is noticed
  return {.first = outage.first - std::min<size_t>(outage.first, 1),
          .last = std::min(outage.first + kNoticed, windows - 1)};
}

// Whether the counter grew no faster than before when the switch went down.
bool IsAsBefore(const Row& row, const SwitchOutage& outage) {
  constexpr size_t kBefore = 10;     // windows
  constexpr uint64_t kAccident = 3;  // signs of single lost packets
  const auto [first, last] = NoticeWindowsOf(outage, row.size());
  uint64_t then = 0;
  for (size_t w = first; w <= last; ++w) then += row[w];
  uint64_t before = 0;
  const size_t begin = first - std::min(first, kBefore);
  for (size_t w = begin; w < first; ++w) before += row[w];
  const auto usual = first == begin ? 0
                                    : static_cast<double>(before * (last - first + 1)) /
                                          static_cast<double>(first - begin);
  return then <= kAccident || static_cast<double>(then) <= 2 * usual;
}

// Whether several NICs without earlier timeouts had one when the switch went down, and more NICs
// than the rate of timeouts before explains. A later packet reveals a single lost one; a timeout
// means that no packet followed.
bool DidNicsTimeOut(const DiagnosisInput& input, const SwitchOutage& outage) {
  constexpr size_t kSeveral = 2;
  constexpr double kMore = 2;  // than expected
  size_t nics = 0;
  double expected = 0;
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!input.HasMetric(entity, Metric::kLocalAckTimeout)) continue;
    const Row row = input.Growth(entity, Metric::kLocalAckTimeout);
    const auto [first, last] = NoticeWindowsOf(outage, row.size());
    const auto windows_with_timeouts = [&](size_t from, size_t behind) {
      return static_cast<size_t>(std::count_if(row.begin() + static_cast<ptrdiff_t>(from),
                                               row.begin() + static_cast<ptrdiff_t>(behind),
                                               [](uint64_t count) { return count > 0; }));
    };
    const size_t before = windows_with_timeouts(0, first);
    const size_t length = last + 1 - first;
    if (before == 0) {
      nics += windows_with_timeouts(first, last + 1) > 0;
    } else if (before <= length) {  // others have timeouts all the time
      expected += static_cast<double>(length) / static_cast<double>(first);
    }
  }
  return nics >= kSeveral && static_cast<double>(nics) > kMore * expected;
}

// Whether NICs noticed no more losses than before when the switch went down. A switch that crashes
// loses the packets that are on their way through it.
bool LostNothing(const DiagnosisInput& input, const SwitchOutage& outage) {
  if (DidNicsTimeOut(input, outage)) return false;
  bool reported = false;
  for (const Metric metric : kLossSigns) {
    const Row row = GrowthOfAllNics(input, metric);
    if (row.empty()) continue;
    reported = true;
    if (!IsAsBefore(row, outage)) return false;
  }
  return reported;
}

// Whether most of the windows have no reading. The first and the last may have one from before and
// after the outage.
bool IsMostlyUnread(const DiagnosisInput& input, const Entity& entity, Metric metric,
                    const std::vector<size_t>& windows) {
  const auto read = static_cast<size_t>(std::ranges::count_if(
      windows, [&](size_t window) { return input.HasReading(entity, metric, window); }));
  return !windows.empty() && 2 * read <= windows.size();
}

// Whether `in_a_row` consecutive windows have no reading, at about the time when the switch
// reported that the link was down. A switch that answers from a cache reports an outage up to two
// windows late: a host may be up again by then.
bool WasUnreadNearby(const DiagnosisInput& input, const Entity& entity, Metric metric,
                     const LinkHistory& history, size_t in_a_row) {
  constexpr size_t kLate = 2;
  const size_t behind = std::min(history.behind + 1, input.windows());
  size_t unread = 0;
  for (size_t w = history.first - std::min(history.first, kLate); w < behind; ++w) {
    unread = input.HasReading(entity, metric, w) ? 0 : unread + 1;
    if (unread == in_a_row) return true;
  }
  return false;
}

// A single missing reading is not enough if readings are not at window ends.
bool WereTwoUnreadNearby(const DiagnosisInput& input, const Entity& entity, Metric metric,
                         const LinkHistory& history) {
  return input.HasMetric(entity, metric) && !input.IsReadAtWindowEnds(entity, metric) &&
         WasUnreadNearby(input, entity, metric, history, 2);
}

bool IsUsuallyRead(const DiagnosisInput& input, const Entity& entity, Metric metric) {
  size_t read = 0;
  for (size_t w = 0; w < input.windows(); ++w) read += input.HasReading(entity, metric, w);
  return 4 * read >= 3 * input.windows();
}

// Whether the counters of the NIC restarted during the outage or shortly after it. The failure of a
// link does not reset them; a restart of the host does.
bool HasRestarted(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history) {
  constexpr size_t kAfter = 3;  // windows until the NIC is read again
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  if (!input.HasMetric(entity, Metric::kRxPackets)) return false;
  const size_t behind = std::min(history.behind + kAfter, input.windows());
  for (size_t w = history.first; w < behind; ++w) {
    if (!input.IsKnown(entity, Metric::kRxPackets, w)) return true;
  }
  return false;
}

// Whether an outage is too short to say whether the NIC reported during it.
bool IsBrief(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history) {
  return input.link_state_windows() > 1 || WindowsDown(input, nic, history).size() <= kEnds;
}

// Whether the switch at the end of a link was down in the same time, so that the link does not show
// whether the host was.
bool IsExplained(const LinkHistory& history, const LinkHistory& own) {
  if (history.any) return false;
  const auto begin = history.explained.begin();
  return std::any_of(begin + static_cast<ptrdiff_t>(own.first),
                     begin + static_cast<ptrdiff_t>(own.behind), std::identity());
}

// Windows by which readings may show the same event apart from each other.
size_t MostApart(const DiagnosisInput& input, topology::NicIndex nic) {
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  const bool is_at_ends = input.IsReadAtWindowEnds(entity, Metric::kLinkUp);
  return is_at_ends ? 2 : 2 + 2 * input.link_state_windows();
}

}  // namespace

namespace {

// Whether the port receives packets in several windows in which it is reported as disabled, except
// for the first ones, when it was enabled until some time. Then the report is wrong.
bool CarriesTrafficWhileDisabled(const DiagnosisInput& input, topology::PortIndex port,
                                 const Row& enabled) {
  constexpr size_t kLate = 3;       // windows
  constexpr size_t kLeast = 4;      // windows
  constexpr uint64_t kBusy = 1000;  // packets per window: more than those of control protocols
  const Row received = input.Growth(input.EntityOf(port), Metric::kRxPackets);
  size_t busy = 0;
  size_t since = 0;  // windows since it was disabled
  for (size_t i = 0; i < std::min(enabled.size(), received.size()); ++i) {
    since = enabled[i] == 0 ? since + 1 : 0;
    if (since <= kLate) continue;
    busy += received[i] >= kBusy;
  }
  return busy >= kLeast;
}

}  // namespace

std::vector<bool> WindowsDisabled(const DiagnosisInput& input, topology::LinkIndex link) {
  std::vector<bool> disabled(input.windows());
  for (const topology::PortIndex port : input.fabric().link(link).ends) {
    const Entity entity = input.EntityOf(port);
    const Row enabled = input.Levels(entity, Metric::kAdminUp);
    if (CarriesTrafficWhileDisabled(input, port, enabled)) continue;
    for (size_t i = 0; i < enabled.size(); ++i) {
      if (enabled[i] != 0) continue;
      // It was disabled at some time since the previous reading. The ends are read at different
      // times.
      size_t first = i;
      while (first > 0 && !input.HasReading(entity, Metric::kAdminUp, first - 1)) --first;
      for (size_t near = first - std::min<size_t>(first, 2);
           near < std::min(i + 2, disabled.size()); ++near) {
        disabled[near] = true;
      }
    }
  }
  return disabled;
}

bool IsSilent(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history) {
  if (input.link_state_windows() > 1) return false;  // most windows have no reading anyway
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  return IsMostlyUnread(input, entity, Metric::kLinkUp, WindowsDown(input, nic, history)) ||
         WereTwoUnreadNearby(input, entity, Metric::kLinkUp, history);
}

bool IsTooEarly(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history) {
  constexpr size_t kEnough = 4;  // windows
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  if (history.behind < input.windows() || history.behind - history.first >= kEnough) return false;
  if (!input.HasMetric(entity, Metric::kLinkUp) ||
      input.IsReadAtWindowEnds(entity, Metric::kLinkUp)) {
    return false;
  }
  for (size_t w = history.first + 1; w < history.behind; ++w) {
    if (input.HasReading(entity, Metric::kLinkUp, w)) return false;
  }
  return true;
}

bool IsHostDown(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistories& histories,
                size_t from, size_t until) {
  const topology::Fabric& fabric = input.fabric();
  const topology::NodeIndex host = fabric.nic(nic).host;
  const LinkHistory own = histories[fabric.port(fabric.nic(nic).port).link].OutagesIn(from, until);
  std::vector<std::pair<topology::NicIndex, LinkHistory>> nics;
  for (const topology::NicIndex other : fabric.NicsOf(host)) {
    const topology::LinkIndex link = fabric.port(fabric.nic(other).port).link;
    if (link == topology::kNone) continue;
    const size_t apart = MostApart(input, other);
    LinkHistory history = histories[link].OutagesIn(from - std::min(from, apart),
                                                    std::min(until + apart, input.windows()));
    if (!IsExplained(history, own)) nics.emplace_back(other, std::move(history));
  }
  const bool has_several = nics.size() > 1;
  std::optional<std::vector<size_t>> all_down;  // windows; unset before the first NIC
  bool have_restarted = !nics.empty();
  for (const auto& [other, history] : nics) {
    const auto [low, high] = std::minmax(own.first, history.first);
    if (!history.any || high - low > MostApart(input, other)) return false;
    // Links of several NICs do not fail at the same time by chance.
    const bool is_unclear = has_several && IsBrief(input, other, history);
    const bool restarted = HasRestarted(input, other, history);
    if (!is_unclear && !restarted && !IsSilent(input, other, history)) return false;
    have_restarted = have_restarted && restarted;
    const std::vector<size_t> of_other = WindowsDown(input, other, history);
    if (!all_down) all_down = of_other;
    std::erase_if(*all_down, [&](size_t at) { return !std::ranges::binary_search(of_other, at); });
  }
  const std::vector<size_t> down = all_down.value_or(std::vector<size_t>());
  size_t gpus = 0;
  for (const topology::GpuIndex gpu : fabric.GpusOf(host)) {
    const Entity entity{.kind = EntityKind::kGpu, .index = gpu};
    if (!input.HasMetric(entity, Metric::kMemoryTotal)) continue;
    ++gpus;
    if (has_several && down.size() <= kEnds) continue;
    if (!IsMostlyUnread(input, entity, Metric::kMemoryTotal, down) &&
        !WereTwoUnreadNearby(input, entity, Metric::kMemoryTotal, own) &&
        !(have_restarted && IsUsuallyRead(input, entity, Metric::kMemoryTotal) &&
          WasUnreadNearby(input, entity, Metric::kMemoryTotal, own, 1))) {
      return false;
    }
  }
  return has_several || gpus > 0;
}

Drain DrainOf(const DiagnosisInput& input, topology::NodeIndex node, const SwitchOutage& outage) {
  const topology::Fabric& fabric = input.fabric();
  const Thresholds& thresholds = input.thresholds();
  Traffic own;
  // The reading before may show it more clearly: it counts nothing of a drain that began earlier.
  Traffic earlier;
  double capacity = 0;  // frames
  size_t window = 0;
  bool is_at_ends = true;  // all neighbours are read at the ends of windows
  for (const topology::Port& port : fabric.PortsOf(node)) {
    if (port.link == topology::kNone) continue;
    const auto here = static_cast<topology::PortIndex>(&port - fabric.ports().data());
    const topology::PortIndex neighbour = fabric.Peer(here);
    // The reading that shows the link down counts what the neighbour sent before.
    const Row up = input.Levels(input.EntityOf(neighbour), Metric::kLinkUp);
    size_t down = outage.first;
    while (down < outage.behind && down < up.size() && up[down] != 0) ++down;
    if (down >= outage.behind || down >= up.size()) continue;
    window = std::max(window, down);
    // If the link was up again at the next reading, part of what it carried since then is counted
    // in the window of this reading, too.
    const bool is_up_again = down > 0 && down + 1 < up.size() && up[down + 1] != 0 &&
                             !input.IsReadAtWindowEnds(input.EntityOf(neighbour), Metric::kLinkUp);
    Add(TrafficFrom(input, neighbour, is_up_again ? down - 1 : down), own);
    if (down > 0) Add(TrafficFrom(input, neighbour, down - 1), earlier);
    capacity += input.BytesPerWindow(neighbour) / kFrameBytes;
    is_at_ends &= input.IsReadAtWindowEnds(input.EntityOf(neighbour), Metric::kLinkUp);
  }
  if (fabric.node(node).tier == topology::Tier::kLeaf && AreNicsInUse(input, node, window)) {
    return Drain::kNone;
  }
  if (own.before == 0) return own.then > 0 ? Drain::kNone : Drain::kUnclear;
  if (static_cast<double>(std::max(own.before, own.then)) < kIdle * capacity) {
    return Drain::kUnclear;
  }
  // Operators are assumed to drain a switch for at least two minutes before they shut it down.
  // Counters that are not read at the ends of windows may be cached ones, of the time before.
  constexpr double kUsual = 0.5;
  constexpr Duration kDrain = std::chrono::minutes(2);
  if (is_at_ends && 2 * input.parts().metrics.window() <= kDrain && !HasFallen(own, kUsual) &&
      !HasFallen(earlier, kUsual)) {
    return Drain::kNone;
  }
  if (!HasFallen(own, thresholds.drained_ratio) && !HasFallen(earlier, thresholds.drained_ratio)) {
    return LostNothing(input, outage) ? Drain::kUnclear : Drain::kNone;
  }
  if (!MostOthersCarriedTraffic(input, node, window)) {
    // Packets that are lost at this time were not on their way through it.
    const bool was_idle = static_cast<double>(std::max(own.then, earlier.then)) < kIdle * capacity;
    return was_idle || LostNothing(input, outage) ? Drain::kUnclear : Drain::kNone;
  }
  // The hosts of a leaf may have stopped for another reason.
  return fabric.node(node).tier == topology::Tier::kLeaf ? Drain::kUnclear : Drain::kDrained;
}

}  // namespace rocescope

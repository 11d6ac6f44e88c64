// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/link_history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analytics/diagnosis/maintenance.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::PortIndex;

// The other ends of the links of a switch that went down report it within this many times of
// reading.
constexpr size_t kSpread = 2;

Row FallsOf(const Row& up) {
  Row falls(up.size());
  for (size_t i = 1; i < up.size(); ++i) falls[i] = up[i - 1] != 0 && up[i] == 0;
  return falls;
}

void AddFalls(Row falls, LinkHistory& history) {
  const bool any = std::ranges::any_of(falls, [](uint64_t times) { return times > 0; });
  if (any) history.falls.push_back(std::move(falls));
}

bool StartsAt(const LinkHistory& history, size_t window) {
  return history.down[window] && (window == 0 || !history.down[window - 1]);
}

// A flap counter that was not read for some windows is known to have grown when it is read again.
// MetricStore distributes the growth from the window of the reading before.
void MoveToReadings(const DiagnosisInput& input, const MetricSeries& series, const Row& up,
                    Row& flaps) {
  std::vector<bool> is_skipped(flaps.size());
  for (const int64_t window : series.skipped()) {
    const size_t i = input.PlaceOf(window);
    if (i < is_skipped.size()) is_skipped[i] = true;
  }
  Row moved = flaps;
  const auto move = [&](size_t from, size_t to) {
    moved[to] += flaps[from];
    moved[from] -= flaps[from];
  };
  for (size_t i = 0; i < flaps.size(); ++i) {
    if (!is_skipped[i]) continue;
    size_t read = i + 1;
    while (read < flaps.size() && is_skipped[read]) ++read;
    if (read == flaps.size()) break;
    const bool was_up = i > 0 && !is_skipped[i - 1] && !up.empty() && up[i - 1] != 0;
    if (was_up) move(i - 1, read);
    for (; i < read; ++i) move(i, read);
  }
  flaps = std::move(moved);
}

// Growth between two readings is divided between the windows from one to the other, but a fall
// after which the link is down belongs to the first window that ends with the link down. Otherwise
// the link of a flap seems to be down before it is.
void MoveToState(const Row& up, Row& flaps) {
  for (size_t i = 0; i + 1 < std::min(flaps.size(), up.size()); ++i) {
    if (flaps[i] == 0 || up[i] == 0 || up[i + 1] != 0 || flaps[i + 1] > 0) continue;
    --flaps[i];
    ++flaps[i + 1];
  }
}

size_t EndOfRun(const LinkHistory& history, size_t window) {
  while (window < history.down.size() && history.down[window]) ++window;
  return window;
}

// How a link took part in an outage.
struct Part {
  bool down = false;
  std::optional<size_t> fell;  // window of the reading that showed it
};

// Between two readings it may have gone down at any time.
Part PartIn(const LinkHistory& history, size_t first, size_t last) {
  Part part;
  size_t w = first;
  while (w < history.down.size() && (w <= last || history.unknown[w - 1])) {
    part.down |= history.down[w];
    if (StartsAt(history, w)) {
      part.fell = w;
      break;
    }
    if (w > last && !history.unknown[w]) break;
    ++w;
  }
  return part;
}

}  // namespace

void LinkHistory::Summarise() {
  any = false;
  first = behind = 0;
  times = 0;
  second.reset();
  for (size_t i = 0; i < down.size(); ++i) {
    if (!down[i]) continue;
    if (!any) first = i;
    any = true;
    behind = i + 1;
  }
  for (const Row& row : falls) {
    uint64_t sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (sum < 2 && sum + row[i] >= 2) second = std::min(second.value_or(i), i);
      sum += row[i];
    }
    times = std::max(times, sum);
  }
}

void LinkHistory::Explain(size_t from, size_t until) {
  for (size_t i = from; i < until; ++i) {
    explained[i] = true;
    down[i] = false;
  }
  for (Row& row : falls) {
    for (size_t i = from; i < std::min(until, row.size()); ++i) row[i] = 0;
  }
}

LinkHistory LinkHistory::OutagesIn(size_t from, size_t until) const {
  while (from > 0 && down[from] && down[from - 1]) --from;
  while (until < down.size() && down[until - 1] && down[until]) ++until;
  LinkHistory history = *this;
  history.Explain(0, from);
  history.Explain(until, down.size());
  history.Summarise();
  return history;
}

LinkHistory HistoryOf(const DiagnosisInput& input, topology::LinkIndex link) {
  LinkHistory history;
  history.down.resize(input.windows());
  history.unknown.resize(input.windows(), true);
  history.explained.resize(input.windows());
  const std::vector<bool> disabled = WindowsDisabled(input, link);
  for (const PortIndex port : input.fabric().link(link).ends) {
    const Entity entity = input.EntityOf(port);
    Row flaps = input.Growth(entity, Metric::kLinkFlaps);
    Row up = input.Levels(entity, Metric::kLinkUp);
    if (const MetricSeries* series = input.parts().metrics.Find(entity, Metric::kLinkFlaps)) {
      MoveToReadings(input, *series, up, flaps);
      MoveToState(up, flaps);
    }
    for (size_t i = 0; i < input.windows(); ++i) {
      if (input.HasReading(entity, Metric::kLinkUp, i)) history.unknown[i] = false;
      if (!disabled[i]) continue;
      history.explained[i] = true;
      flaps[i] = 0;
      if (!up.empty()) up[i] = 1;
    }
    const MetricSeries* state = input.parts().metrics.Find(entity, Metric::kLinkUp);
    // A link that was never up is a missing cable, which the cabling analysis reports.
    const bool ever = state != nullptr && state->was_ever_nonzero();
    history.reports_state |= state != nullptr;
    history.was_up |= ever;
    for (size_t i = 0; i < input.windows(); ++i) {
      if (flaps[i] > 0 || (ever && !up.empty() && up[i] == 0)) history.down[i] = true;
    }
    AddFalls(std::move(flaps), history);
    if (ever) AddFalls(FallsOf(up), history);
  }
  if (!history.reports_state) history.unknown.assign(input.windows(), false);
  history.Summarise();
  return history;
}

LinkHistories HistoriesOf(const DiagnosisInput& input) {
  LinkHistories histories;
  for (topology::LinkIndex link = 0; link < input.fabric().links().size(); ++link) {
    histories.push_back(HistoryOf(input, link));
  }
  return histories;
}

namespace {

// A short outage may fall between two readings of some neighbours, and a reading can be lost.
constexpr size_t kSeenForEachUnseen = 2;
// So many links do not go down at the same time by chance, even if the counters of their switch did
// not restart.
constexpr size_t kManyLinks = 4;
constexpr size_t kManySeenForEachUnseen = 5;

// Whether the counters of the switch began at zero again in the windows or shortly after.
bool HasRestarted(const DiagnosisInput& input, topology::NodeIndex node, size_t from,
                  size_t behind) {
  const size_t until = std::min(behind + kSpread, input.windows());
  const topology::Node& of = input.fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    const Entity entity = input.EntityOf(of.first_port + i);
    if (!input.HasMetric(entity, Metric::kTxPackets)) continue;
    for (size_t w = from; w < until; ++w) {
      if (!input.IsKnown(entity, Metric::kTxPackets, w)) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<SwitchOutage> OutageOf(const DiagnosisInput& input, topology::NodeIndex node,
                                     const LinkHistories& histories, size_t from) {
  std::vector<topology::LinkIndex> links;
  std::vector<PortIndex> unknown;
  std::vector<topology::LinkIndex> unseen;  // up at each reading, or down for a known reason
  for (const topology::Port& port : input.fabric().PortsOf(node)) {
    if (port.link == kNone) continue;
    const LinkHistory& history = histories[port.link];
    const auto own = static_cast<PortIndex>(&port - input.fabric().ports().data());
    if (history.any) {
      links.push_back(port.link);
    } else if (!input.HasMetric(input.EntityOf(input.fabric().Peer(own)), Metric::kLinkUp)) {
      // Only the switch itself could report this link, which it cannot while it is down.
      unknown.push_back(own);
    } else if (history.was_up || !history.reports_state) {
      unseen.push_back(port.link);  // declared cables that do not exist are left out
    }
  }
  if (unseen.size() > links.size() / kSeenForEachUnseen) return std::nullopt;
  std::set<size_t> starts;
  for (const topology::LinkIndex link : links) {
    for (size_t w = from; w < input.windows(); ++w) {
      if (StartsAt(histories[link], w)) starts.insert(w);
    }
  }
  for (const size_t start : starts) {
    const size_t last = std::min(start + kSpread * input.link_state_windows(), input.windows() - 1);
    SwitchOutage outage = {.first = start, .behind = start};
    auto up = static_cast<size_t>(std::ranges::count_if(
        unseen, [&](topology::LinkIndex link) { return !histories[link].explained[start]; }));
    for (const topology::LinkIndex link : links) {
      const Part part = PartIn(histories[link], start, last);
      if (part.fell) {
        ++outage.links;
        outage.behind = std::max(outage.behind, EndOfRun(histories[link], *part.fell));
      }
      if (!part.down) ++up;
    }
    if (outage.links < 2 || 2 * outage.links < links.size()) continue;
    const bool are_many = outage.links >= kManyLinks && kManySeenForEachUnseen * up <= outage.links;
    const bool are_some = kSeenForEachUnseen * up <= outage.links;
    if (up > 0 && !are_many && !(are_some && HasRestarted(input, node, start, outage.behind))) {
      continue;
    }
    const size_t silent = std::min(start + input.link_state_windows(), outage.behind - 1);
    if (std::ranges::none_of(unknown, [&](PortIndex port) {
          return input.HasReading(input.EntityOf(port), Metric::kLinkUp, silent);
        })) {
      return outage;
    }
  }
  return std::nullopt;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using v1::PathInterval;

struct StateWord {
  PathInterval::State state;
  std::string_view word;
};
constexpr std::array<StateWord, 6> kWords = {{{PathInterval::STATE_EXACT, "exact"},
                                              {PathInterval::STATE_LIKELY, "likely"},
                                              {PathInterval::STATE_AMBIGUOUS, "ambiguous"},
                                              {PathInterval::STATE_SPREAD, "spread"},
                                              {PathInterval::STATE_STRAY, "stray"},
                                              {PathInterval::STATE_UNKNOWN, "unknown"}}};

// Looks up the ranks of queue pairs in the connections.
class Ranks {
 public:
  explicit Ranks(const v1::ReplayReport& report) {
    for (const v1::Connection& connection : report.connections()) {
      Note(connection.a(), connection.b());
      Note(connection.b(), connection.a());
    }
  }

  // Returns "host0:mlx5_0 (rank 3)", or the address if it is not in the topology.
  std::string Source(const v1::FlowPath& path) const {
    return Text(path.source_nic(), path.source(), RankOf(path, true));
  }
  std::string Destination(const v1::FlowPath& path) const {
    return Text(path.destination_nic(), path.destination(), RankOf(path, false));
  }

 private:
  using Key = std::tuple<std::string, std::string,
                         uint32_t>;  // source, destination, destination's queue pair
  struct Pair {
    std::optional<int> source;
    std::optional<int> destination;
  };

  void Note(const v1::Endpoint& from, const v1::Endpoint& to) {
    if (!to.has_qpn()) return;
    Pair& pair = pairs_[{from.address(), to.address(), to.qpn()}];
    pair = {};
    if (from.has_rank()) pair.source = from.rank();
    if (to.has_rank()) pair.destination = to.rank();
  }
  std::optional<int> RankOf(const v1::FlowPath& path, bool source) const {
    const auto at = pairs_.find({path.source(), path.destination(), path.destination_qpn()});
    if (at == pairs_.end()) return std::nullopt;
    return source ? at->second.source : at->second.destination;
  }
  static std::string Text(const std::string& nic, const std::string& address,
                          std::optional<int> rank) {
    const std::string& name = nic.empty() ? address : nic;
    return rank ? fmt::format("{} (rank {})", name, *rank) : name;
  }

  std::map<Key, Pair> pairs_;
};

// Returns the switch ports of the path or, if several paths match, their common ports.
std::string PathOf(const PathInterval& stretch) {
  const auto join = [](const auto& ports) {
    std::string text;
    for (int i = 1; i < ports.size(); ++i) text += (i > 1 ? " > " : "") + ports[i];
    return text;
  };
  switch (stretch.state()) {
    case PathInterval::STATE_EXACT:
    case PathInterval::STATE_LIKELY:
      return join(stretch.ports());
    case PathInterval::STATE_AMBIGUOUS:
      return fmt::format("one of {}, all through {}",
                         Counted(stretch.candidate_path_count(), "path"),
                         join(stretch.certain_ports()));
    case PathInterval::STATE_SPREAD:
    case PathInterval::STATE_STRAY: {
      std::string text;
      for (const v1::PortShare& share : stretch.shares()) {
        text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", share.port(),
                            100 * share.share());
      }
      return text;
    }
    default:
      return "";
  }
}

// Returns the reason for the path change.
std::string ReasonOf(const PathInterval& stretch) {
  switch (stretch.change_cause()) {
    case PathInterval::CHANGE_CAUSE_LINK_DOWN:
    case PathInterval::CHANGE_CAUSE_SWITCH_DOWN:
      return stretch.change_place() + " went down";
    case PathInterval::CHANGE_CAUSE_LINK_UP:
      return stretch.change_place() + " came up";
    case PathInterval::CHANGE_CAUSE_LINK_SILENT:
      return "no traffic on " + stretch.change_place() + " afterwards";
    case PathInterval::CHANGE_CAUSE_REHASHED:
      return "rehashed together with " + stretch.change_place();
    case PathInterval::CHANGE_CAUSE_NEW_SOURCE_PORT:
      return "new source port";
    default:
      return WordOf(stretch.change_cause());
  }
}

std::string SumText(const v1::ReplayReport& report) {
  std::map<PathInterval::State, uint64_t> flows;
  uint64_t changed = 0;
  for (const v1::FlowPath& path : report.paths()) {
    ++flows[path.intervals(path.intervals_size() - 1).state()];
    changed += path.intervals_size() > 1;
  }
  std::string text;
  for (const auto& [state, word] : kWords) {
    if (flows.contains(state)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", WithThousands(flows[state]), word);
    }
  }
  if (changed > 0) text += fmt::format("; {} changed path", WithThousands(changed));
  return text;
}

}  // namespace

void AppendPaths(const v1::ReplayReport& report, std::string& text) {
  if (report.paths().empty()) return;
  text += fmt::format("PATHS of {}: {}\n\n",
                      Counted(static_cast<uint64_t>(report.paths_size()), "flow"), SumText(report));
  // Flows that changed path first, then the largest.
  std::vector<const v1::FlowPath*> order;
  for (const v1::FlowPath& path : report.paths()) order.push_back(&path);
  const auto weight = [](const v1::FlowPath* path) {
    uint64_t bytes = 0;
    for (const PathInterval& stretch : path->intervals()) bytes += stretch.bytes();
    return std::pair(path->intervals_size() > 1, bytes);
  };
  std::ranges::stable_sort(order, std::greater<>(), weight);
  const Ranks ranks(report);
  TextTable table({{"FROM"},
                   {"TO"},
                   {"QP", Align::kRight, 2},
                   {"SINCE", Align::kRight},
                   {"BYTES", Align::kRight},
                   {"CONFIDENCE"},
                   {"REASON", Align::kLeft, 1},
                   {"PATH (EGRESS PORTS)"}});
  int rows = 0;
  int shown = 0;
  for (const v1::FlowPath* path : order) {
    if (rows >= kMaxRows) break;
    ++shown;
    for (const PathInterval& stretch : path->intervals()) {
      const bool first = &stretch == &path->intervals(0);
      const auto* word = std::ranges::find(kWords, stretch.state(), &StateWord::state);
      table.Add({first ? ranks.Source(*path) : "", first ? ranks.Destination(*path) : "",
                 first ? std::to_string(path->destination_qpn()) : "",
                 OffsetText(report, Nanoseconds(stretch.start_time())),
                 WithThousands(stretch.bytes()),
                 word == kWords.end() ? "" : std::string(word->word), ReasonOf(stretch),
                 PathOf(stretch)});
      ++rows;
    }
  }
  text += table.Deferred(2);
  AppendMore(report.paths_size() - shown + kMaxRows, "flow", text);
  text += "\n";
}

}  // namespace rocescope

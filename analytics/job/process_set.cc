// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analytics/job/host_names.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

constexpr size_t kMaxNotesAName = 3;  // about processes with the same name

size_t FactCount(const NcclProcess& process) {
  return process.communicators.size() + process.channels.size() + process.queue_pairs.size() +
         process.errors.size() + process.proxy_connections.size() + process.ece.size();
}

// What identifies a communicator of a process.
using CommunicatorKey = std::tuple<uint64_t, int, int, std::optional<uint64_t>>;

CommunicatorKey KeyOf(const NcclCommunicator& communicator) {
  return {communicator.pointer, communicator.rank, communicator.rank_count, communicator.comm_id};
}

// Kept processes with one name. A look-up does not depend on their number, because a host can
// report thousands of processes with one name.
class Namesakes {
 public:
  // Returns the index of the first kept process of which this one is a copy. Copies of a log may
  // start or end at different lines, so their first communicators may differ.
  std::optional<size_t> OriginalOf(const NcclProcess& process) const {
    if (process.communicators.empty()) return first_;
    std::optional<size_t> original = without_communicators_;
    const auto look_up = [&](const auto& table, const NcclCommunicator& communicator) {
      const auto at = table.find(KeyOf(communicator));
      if (at != table.end()) original = std::min(original.value_or(at->second), at->second);
    };
    look_up(by_any_, process.communicators.front());
    for (const NcclCommunicator& one : process.communicators) look_up(by_first_, one);
    return original;
  }

  // `place`: index of the process; increases with each call.
  void Keep(size_t place, const NcclProcess& process) {
    ++count_;
    if (!first_) first_ = place;
    latest_ = place;
    if (process.communicators.empty()) {
      if (!without_communicators_) without_communicators_ = place;
      return;
    }
    by_first_.try_emplace(KeyOf(process.communicators.front()), place);
    for (const NcclCommunicator& one : process.communicators) {
      by_any_.try_emplace(KeyOf(one), place);
    }
  }

  size_t count() const { return count_; }
  std::optional<size_t> first() const { return first_; }
  std::optional<size_t> latest() const { return latest_; }

  size_t unnoted = 0;  // processes without a note about their namesakes

 private:
  size_t count_ = 0;
  std::optional<size_t> first_;
  std::optional<size_t> latest_;
  std::optional<size_t> without_communicators_;
  std::map<CommunicatorKey, size_t> by_first_;  // by a process's first communicator
  std::map<CommunicatorKey, size_t> by_any_;    // by each communicator of a process
};

// Sorts the most complete copy first, so that it is kept.
auto SortKey(const LoggedProcess& process) {
  const NcclProcess& facts = *process.facts;
  const int first_rank = facts.communicators.empty() ? -1 : facts.communicators.front().rank;
  return std::tuple<const std::string&, uint64_t, int64_t, const std::string&, int>(
      facts.host, facts.process_id, -static_cast<int64_t>(FactCount(facts)), process.source,
      first_rank);
}

}  // namespace

std::string ProcessName(const NcclProcess& process) {
  return fmt::format("{}:{}", process.host, process.process_id);
}

std::vector<LoggedProcess> CollectProcesses(std::span<const NcclLog* const> logs) {
  std::vector<LoggedProcess> given;
  for (const NcclLog* const log : logs) {
    for (const NcclProcess& process : log->processes) {
      given.push_back({.facts = &process, .source = log->source_name});
    }
  }
  std::ranges::sort(given, {}, SortKey);
  HostNames hosts;
  std::vector<uint32_t> number_of;  // host names, by given process
  number_of.reserve(given.size());
  for (const LoggedProcess& process : given) number_of.push_back(hosts.Add(process.facts->host));
  hosts.Index();
  std::vector<LoggedProcess> kept;
  using ByName = std::map<std::pair<uint32_t, uint64_t>, Namesakes>;
  ByName exact;   // by host name and process ID
  ByName longer;  // the same, of hosts whose longer name begins with this one
  for (size_t i = 0; i < given.size(); ++i) {
    LoggedProcess& process = given[i];
    const NcclProcess& facts = *process.facts;
    const uint32_t host = hosts.GroupOf(number_of[i]);
    const std::span<const uint32_t> shorter = hosts.ShorterThan(host);
    std::optional<size_t> original;
    std::optional<size_t> latest;
    size_t count = 0;
    const auto look_up = [&](const ByName& table, uint32_t name) {
      const auto at = table.find({name, facts.process_id});
      if (at == table.end()) return;
      const auto found = at->second.OriginalOf(facts);
      if (found) original = std::min(original.value_or(*found), *found);
      latest = std::max(latest, at->second.latest());
      count += at->second.count();
    };
    for (const uint32_t name : shorter) look_up(exact, name);
    look_up(exact, host);
    look_up(longer, host);
    if (original) {
      LoggedProcess& other = kept[*original];
      other.notes.push_back(fmt::format("{} is also in {}; the copy in {} is used",
                                        ProcessName(*other.facts), process.source, other.source));
      continue;
    }
    Namesakes& own = exact[{host, facts.process_id}];
    if (latest && count <= kMaxNotesAName) {
      process.notes.push_back(
          fmt::format("{} and {} each contain a process {} with different communicators; they are "
                      "treated as different processes",
                      kept[*latest].source, process.source, ProcessName(facts)));
    } else if (latest) {
      ++own.unnoted;
    }
    own.Keep(kept.size(), facts);
    for (const uint32_t name : shorter) longer[{name, facts.process_id}].Keep(kept.size(), facts);
    kept.push_back(std::move(process));
  }
  for (const auto& [name, namesakes] : exact) {
    if (namesakes.unnoted == 0) continue;
    LoggedProcess& first = kept[*namesakes.first()];
    first.notes.push_back(fmt::format(
        "{} further processes named {} with different communicators were found; they are treated "
        "as different processes",
        WithThousands(namesakes.unnoted), ProcessName(*first.facts)));
  }
  return kept;
}

}  // namespace rocescope

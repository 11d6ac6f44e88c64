// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analytics/job/host_name.h"
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

// The different processes with one name. Finds copies without comparing each process with each
// other one, because a host can report thousands of processes with one name.
class SameName {
 public:
  explicit SameName(std::vector<LoggedProcess>& kept) : kept_(kept) {}

  // Returns the index of the first kept process of which this one is a copy. Copies of a log may
  // start or end at different lines, so their first communicators may differ.
  std::optional<size_t> OriginalOf(const NcclProcess& process) const {
    std::optional<size_t> first;
    const auto consider = [&](const std::vector<size_t>& places) {
      for (const size_t place : places) {
        if (first && *first <= place) return;
        if (!SameHost(kept_[place].facts->host, process.host)) continue;
        first = place;
        return;
      }
    };
    const auto look_up = [&](const auto& table, const NcclCommunicator& communicator) {
      if (const auto at = table.find(KeyOf(communicator)); at != table.end()) consider(at->second);
    };
    if (process.communicators.empty()) {
      consider(all_);
      return first;
    }
    consider(without_communicators_);
    look_up(any_, process.communicators.front());
    for (const NcclCommunicator& one : process.communicators) look_up(first_, one);
    return first;
  }

  // The most recently kept process on this host, if there is one.
  std::optional<size_t> LatestOn(const std::string& host) const {
    const auto at = std::find_if(all_.rbegin(), all_.rend(), [&](size_t place) {
      return SameHost(kept_[place].facts->host, host);
    });
    return at == all_.rend() ? std::nullopt : std::optional(*at);
  }

  size_t count() const { return all_.size(); }
  size_t first() const { return all_.front(); }

  void Keep(size_t place) {
    const NcclProcess& process = *kept_[place].facts;
    all_.push_back(place);
    if (process.communicators.empty()) {
      without_communicators_.push_back(place);
      return;
    }
    first_[KeyOf(process.communicators.front())].push_back(place);
    for (const NcclCommunicator& one : process.communicators) {
      std::vector<size_t>& places = any_[KeyOf(one)];
      if (places.empty() || places.back() != place) places.push_back(place);
    }
  }

 private:
  using Places = std::vector<size_t>;  // ascending indices of kept processes

  std::vector<LoggedProcess>& kept_;
  Places all_;
  Places without_communicators_;
  std::map<CommunicatorKey, Places> first_;  // by a process's first communicator
  std::map<CommunicatorKey, Places> any_;    // by each communicator of a process
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
  std::vector<LoggedProcess> kept;
  std::map<std::pair<std::string, uint64_t>, SameName> by_name;
  for (LoggedProcess& process : given) {
    std::string short_host(ShortHostName(process.facts->host));
    SameName& same_name =
        by_name.try_emplace({std::move(short_host), process.facts->process_id}, kept).first->second;
    if (const auto original = same_name.OriginalOf(*process.facts)) {
      LoggedProcess& other = kept[*original];
      other.notes.push_back(fmt::format("{} is also in {}; the copy in {} is used",
                                        ProcessName(*other.facts), process.source, other.source));
      continue;
    }
    const auto latest = same_name.LatestOn(process.facts->host);
    if (latest && same_name.count() <= kMaxNotesAName) {
      process.notes.push_back(
          fmt::format("{} and {} each contain a process {} with different communicators; they are "
                      "treated as different processes",
                      kept[*latest].source, process.source, ProcessName(*process.facts)));
    }
    kept.push_back(std::move(process));
    same_name.Keep(kept.size() - 1);
  }
  for (const auto& [name, same_name] : by_name) {
    if (same_name.count() <= kMaxNotesAName + 1) continue;
    LoggedProcess& first = kept[same_name.first()];
    first.notes.push_back(fmt::format(
        "{} logs in all contain processes {} with different communicators; they are treated as "
        "different processes",
        WithThousands(same_name.count()), ProcessName(*first.facts)));
  }
  return kept;
}

}  // namespace rocescope

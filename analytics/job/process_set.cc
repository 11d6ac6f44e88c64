// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

size_t FactCount(const NcclProcess& process) {
  return process.communicators.size() + process.channels.size() + process.queue_pairs.size() +
         process.errors.size() + process.proxy_connections.size() + process.ece.size();
}

bool HasCommunicator(const NcclProcess& process, const NcclCommunicator& wanted) {
  return std::ranges::any_of(process.communicators, [&](const NcclCommunicator& communicator) {
    return communicator.pointer == wanted.pointer && communicator.rank == wanted.rank &&
           communicator.rank_count == wanted.rank_count && communicator.comm_id == wanted.comm_id;
  });
}

// Copies of a log may start or end at different lines, so their first communicators may differ.
bool IsSameProcess(const NcclProcess& a, const NcclProcess& b) {
  if (a.communicators.empty() || b.communicators.empty()) return true;
  return HasCommunicator(a, b.communicators.front()) || HasCommunicator(b, a.communicators.front());
}

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
  std::map<std::pair<std::string, uint64_t>, std::vector<size_t>> kept_of_name;
  for (LoggedProcess& process : given) {
    std::string short_host(ShortHostName(process.facts->host));
    std::vector<size_t>& same_name =
        kept_of_name[{std::move(short_host), process.facts->process_id}];
    bool is_copy = false;
    for (const size_t index : same_name) {
      LoggedProcess& other = kept[index];
      if (!SameHost(other.facts->host, process.facts->host)) continue;
      is_copy = IsSameProcess(*other.facts, *process.facts);
      if (is_copy) {
        other.notes.push_back(fmt::format("{} is also in {}; the copy in {} is used",
                                          ProcessName(*other.facts), process.source, other.source));
        break;
      }
      process.notes.push_back(
          fmt::format("{} and {} each contain a process {} with different communicators; they are "
                      "treated as different processes",
                      other.source, process.source, ProcessName(*process.facts)));
    }
    if (is_copy) continue;
    same_name.push_back(kept.size());
    kept.push_back(std::move(process));
  }
  return kept;
}

}  // namespace rocescope

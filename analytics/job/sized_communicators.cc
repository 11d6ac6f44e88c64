// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/sized_communicators.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analytics/connection/disjoint_sets.h"
#include "analytics/job/host_name.h"
#include "analytics/job/sized_links.h"

namespace rocescope {
namespace {

bool Clashes(const SizedClass& members) {
  std::map<int, size_t> process_of;
  return std::ranges::any_of(members.members, [&](const SizedMember& member) {
    const auto [at, is_first] = process_of.try_emplace(member.rank, member.process);
    return !is_first && at->second != member.process;
  });
}

// At equal distances: 0, 1, 2, 3 or, round robin over four hosts, 1, 5, 9, 13.
bool IsEven(const std::set<int>& ranks) {
  if (ranks.size() < 2) return false;
  const int step = *std::next(ranks.begin()) - *ranks.begin();
  for (auto at = ranks.begin(), next = std::next(at); next != ranks.end(); ++at, ++next) {
    if (*next - *at != step) return false;
  }
  return true;
}

class Parting {
 public:
  Parting(std::span<const LoggedProcess> processes, std::span<const SizedClass> classes,
          std::span<const std::pair<size_t, size_t>> joined, const JobEvidence& evidence)
      : processes_(processes), classes_(classes), jobs_(processes.size()) {
    for (const auto& [a, b] : joined) JoinJobs(a, b);
    for (size_t c = 0; c < classes.size(); ++c) {
      parted_.push_back(Clashes(classes[c]));
      units_.emplace_back(classes[c]);
      for (const SizedMember& member : classes[c].members) {
        if (!parted_[c]) JoinJobs(classes[c].members[0].process, member.process);
      }
    }
    allocations_.resize(processes.size());
    for (size_t p = 0; evidence.allocation_of && p < processes.size(); ++p) {
      allocations_[p] = evidence.allocation_of(*processes[p].facts);
    }
    for (SizedLink& link : LinksOf(processes, classes, evidence)) {
      if (!parted_[link.in]) continue;
      if (link.peers.size() == 1) {
        Join(link.in, link.member, link.peers[0]);
      } else {
        open_links_.push_back(std::move(link));
      }
    }
  }

  std::vector<std::vector<uint32_t>> Run() {
    for (has_changed_ = true; has_changed_;) {
      has_changed_ = false;
      for (const SizedLink& link : open_links_) FollowOpen(link);
      JoinAlike([&](const SizedMember& member) { return int64_t{JobOf(member.process)}; });
      if (has_changed_) continue;
      JoinAlike([&](const SizedMember& member) {
        const std::optional<uint32_t>& allocation = allocations_[member.process];
        return allocation ? int64_t{*allocation} : int64_t{-1};
      });
      if (has_changed_) continue;
      JoinHosts();
      if (has_changed_) continue;
      JoinRestarts();
      if (has_changed_) continue;
      for (const SizedLink& link : open_links_) FollowWithinJob(link);
    }
    std::vector<std::vector<uint32_t>> numbers(classes_.size());
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (!parted_[c]) continue;
      JoinTheRest(c);
      for (uint32_t m = 0; m < classes_[c].members.size(); ++m) {
        numbers[c].push_back(units_[c].sets.RootOf(m));
      }
    }
    return numbers;
  }

 private:
  // Members of a class that are known to belong to one communicator.
  struct Units {
    explicit Units(const SizedClass& of) : sets(of.members.size()) {
      for (const SizedMember& member : of.members) {
        ranks.push_back({{member.rank, member.process}});
      }
    }
    DisjointSets sets;
    // Process by rank; indexed by the first member of a unit.
    std::vector<std::map<int, size_t>> ranks;
  };

  uint32_t JobOf(size_t process) { return jobs_.RootOf(static_cast<uint32_t>(process)); }
  void JoinJobs(size_t a, size_t b) {
    jobs_.Join(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  }

  // Does nothing if two processes would then have the same rank.
  void Join(size_t c, uint32_t a, uint32_t b) {
    Units& units = units_[c];
    a = units.sets.RootOf(a);
    b = units.sets.RootOf(b);
    if (a == b) return;
    std::map<int, size_t>& few = units.ranks[units.ranks[a].size() < units.ranks[b].size() ? a : b];
    std::map<int, size_t>& many = &few == &units.ranks[a] ? units.ranks[b] : units.ranks[a];
    for (const auto& [rank, process] : few) {
      const auto at = many.find(rank);
      if (at != many.end() && at->second != process) return;
    }
    many.merge(few);
    few.clear();
    units.sets.Join(a, b);
    std::map<int, size_t>& first = units.ranks[std::min(a, b)];
    if (&first != &many) std::swap(first, many);
    JoinJobs(classes_[c].members[a].process, classes_[c].members[b].process);
    has_changed_ = true;
  }

  // Whichever candidate it is, the peer belongs to the same job.
  void FollowOpen(const SizedLink& link) {
    const std::vector<SizedMember>& members = classes_[link.in].members;
    const size_t first = members[link.peers[0]].process;
    const size_t own = members[link.member].process;
    const bool is_one_job = std::ranges::all_of(
        link.peers, [&](uint32_t peer) { return JobOf(members[peer].process) == JobOf(first); });
    if (!is_one_job || JobOf(own) == JobOf(first)) return;
    JoinJobs(own, first);
    has_changed_ = true;
  }

  // Joins members with the same key into one communicator if all of their ranks differ; otherwise
  // the key covers several communicators and is ignored. Negative keys are ignored.
  template <typename KeyOf>
  void JoinAlike(const KeyOf& key_of) {
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (!parted_[c]) continue;
      std::map<int64_t, SizedClass> of_key;
      std::map<int64_t, std::vector<uint32_t>> places;
      for (uint32_t m = 0; m < classes_[c].members.size(); ++m) {
        const int64_t key = key_of(classes_[c].members[m]);
        if (key < 0) continue;
        of_key[key].members.push_back(classes_[c].members[m]);
        places[key].push_back(m);
      }
      for (const auto& [key, members] : of_key) {
        if (Clashes(members)) continue;
        for (const uint32_t m : places[key]) Join(c, places[key][0], m);
      }
    }
  }

  void JoinHosts() {
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (!parted_[c]) continue;
      std::map<std::string, std::vector<uint32_t>> on_host;
      for (uint32_t m = 0; m < classes_[c].members.size(); ++m) {
        on_host[HostKey(processes_[classes_[c].members[m].process].facts->host)].push_back(m);
      }
      for (const auto& [host, members] : on_host) {
        std::set<int> ranks;
        for (const uint32_t m : members) ranks.insert(classes_[c].members[m].rank);
        if (ranks.size() != members.size() || !IsEven(ranks)) continue;
        for (const uint32_t m : members) Join(c, members[0], m);
      }
    }
  }

  // A restarted job has the same ranks on the same GPUs again. A GPU runs one process of a job at a
  // time, and process IDs ascend, so the first processes of all GPUs belong together, and so on.
  void JoinRestarts() {
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (!parted_[c]) continue;
      std::map<int, std::vector<uint32_t>> of_rank;
      for (uint32_t m = 0; m < classes_[c].members.size(); ++m) {
        of_rank[classes_[c].members[m].rank].push_back(m);
      }
      const size_t starts = of_rank.begin()->second.size();
      const bool is_restarted = std::ranges::all_of(of_rank, [&](auto& each) {
        std::vector<uint32_t>& members = each.second;
        std::ranges::sort(members, {}, [&](uint32_t m) { return ProcessIdOf(c, m); });
        return members.size() == starts && std::ranges::all_of(members, [&](uint32_t m) {
                 return GpuOf(c, m) == GpuOf(c, members[0]);
               });
      });
      if (!is_restarted) continue;
      for (const auto& [rank, members] : of_rank) {
        for (size_t start = 0; start < starts; ++start) {
          Join(c, of_rank.begin()->second[start], members[start]);
        }
      }
    }
  }

  uint64_t ProcessIdOf(size_t c, uint32_t m) const {
    return processes_[classes_[c].members[m].process].facts->process_id;
  }
  std::pair<std::string, uint64_t> GpuOf(size_t c, uint32_t m) const {
    const SizedMember& member = classes_[c].members[m];
    const NcclProcess& process = *processes_[member.process].facts;
    return {HostKey(process.host), process.communicators[member.communicator].bus_id};
  }

  // The peer belongs to the job of the process, in which there may be only one candidate.
  void FollowWithinJob(const SizedLink& link) {
    const std::vector<SizedMember>& members = classes_[link.in].members;
    const uint32_t job = JobOf(members[link.member].process);
    std::optional<uint32_t> found;
    for (const uint32_t peer : link.peers) {
      if (JobOf(members[peer].process) != job) continue;
      if (found) return;
      found = peer;
    }
    if (found) Join(link.in, link.member, *found);
  }

  // Joins the members that remain after removing complete communicators, if they form exactly one
  // more.
  void JoinTheRest(size_t c) {
    const auto count = static_cast<size_t>(classes_[c].rank_count);
    SizedClass rest;
    std::vector<uint32_t> places;
    for (uint32_t m = 0; m < classes_[c].members.size(); ++m) {
      if (units_[c].ranks[units_[c].sets.RootOf(m)].size() >= count) continue;
      rest.members.push_back(classes_[c].members[m]);
      places.push_back(m);
    }
    if (places.size() != count || Clashes(rest)) return;
    for (const uint32_t m : places) Join(c, places[0], m);
  }

  std::span<const LoggedProcess> processes_;
  std::span<const SizedClass> classes_;
  DisjointSets jobs_;  // sets of processes
  std::vector<bool> parted_;
  std::vector<Units> units_;  // indexed by class
  std::vector<SizedLink> open_links_;
  std::vector<std::optional<uint32_t>> allocations_;
  bool has_changed_ = false;
};

}  // namespace

std::vector<std::vector<uint32_t>> PartClasses(std::span<const LoggedProcess> processes,
                                               std::span<const SizedClass> classes,
                                               std::span<const std::pair<size_t, size_t>> joined,
                                               const JobEvidence& evidence) {
  if (std::ranges::none_of(classes, Clashes)) return {};
  return Parting(processes, classes, joined, evidence).Run();
}

}  // namespace rocescope

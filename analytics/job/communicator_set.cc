// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/communicator_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analytics/job/sized_communicators.h"
#include "base/hash.h"

namespace rocescope {
namespace {

// Seeds that separate the key spaces of splits and sizes.
constexpr uint64_t kSplitSeed = 1;
constexpr uint64_t kSizeSeed = 2;
constexpr uint64_t kLoneSeed = 3;

struct Identity {
  uint64_t key = 0;
  std::optional<size_t> parent;  // index into the process's communicators
  bool matched_by_size = false;
  bool is_lone = false;  // a split whose parent is not in the log
  bool was_parted = false;
};

// Computes the keys of one process's communicators, in order, so that its peers get the same keys.
class Identities {
 public:
  explicit Identities(const NcclProcess& process) : process_(process) {}

  Identity Next(const NcclCommunicator& communicator) {
    Identity identity = Find(communicator);
    latest_of_pointer_[communicator.pointer] = identities_.size();
    identities_.push_back(identity.key);
    return identity;
  }

 private:
  Identity Find(const NcclCommunicator& communicator) {
    Identity identity;
    if (communicator.split) {
      const auto parent = latest_of_pointer_.find(communicator.split->parent);
      if (parent != latest_of_pointer_.end()) identity.parent = parent->second;
    }
    if (communicator.comm_id) {
      identity.key = *communicator.comm_id;
    } else if (identity.parent) {
      identity.key = SplitKey(communicator, *identity.parent);
    } else if (communicator.split) {
      identity.is_lone = true;
      uint64_t key = HashCombine(kLoneSeed, process_.process_id);
      for (const char c : process_.host) key = HashCombine(key, static_cast<unsigned char>(c));
      identity.key = HashCombine(key, communicator.begin_line);
    } else {
      // Every rank creates its communicators in the same order.
      identity.matched_by_size = true;
      const int ordinal = of_size_[{communicator.cuda_device, communicator.rank_count}]++;
      identity.key = HashCombine(HashCombine(kSizeSeed, communicator.rank_count), ordinal);
    }
    return identity;
  }

  // ncclCommSplit is collective over the parent. If the release does not number its splits, they
  // are counted per colour, because a rank without a colour prints nothing.
  uint64_t SplitKey(const NcclCommunicator& communicator, size_t parent) {
    const NcclSplit& split = *communicator.split;
    const int counted = of_color_[{parent, split.color}]++;
    uint64_t key = HashCombine(kSplitSeed, identities_[parent]);
    key = HashCombine(key, split.ordinal.value_or(counted));
    key = HashCombine(key, static_cast<uint32_t>(split.color));
    return HashCombine(key, communicator.rank_count);
  }

  const NcclProcess& process_;
  std::unordered_map<uint64_t, size_t> latest_of_pointer_;
  std::vector<uint64_t> identities_;
  std::map<std::pair<size_t, int>, int> of_color_;
  std::map<std::pair<int, int>, int> of_size_;
};

using ProcessIdentities =
    std::vector<std::vector<Identity>>;  // indexed by process and communicator

// Gives communicators known only by size the identities derived from evidence.
void PartBySize(std::span<const LoggedProcess> processes, const JobEvidence& evidence,
                ProcessIdentities& identities) {
  std::map<uint64_t, SizedClass> of_key;
  std::map<uint64_t, size_t> first_of_key;
  std::vector<std::pair<size_t, size_t>> joined;
  for (size_t p = 0; p < processes.size(); ++p) {
    for (size_t c = 0; c < identities[p].size(); ++c) {
      const Identity& identity = identities[p][c];
      const NcclCommunicator& communicator = processes[p].facts->communicators[c];
      if (!identity.matched_by_size) {
        joined.emplace_back(first_of_key.try_emplace(identity.key, p).first->second, p);
        continue;
      }
      SizedClass& same = of_key[identity.key];
      same.rank_count = communicator.rank_count;
      same.members.push_back({.process = p, .communicator = c, .rank = communicator.rank});
    }
  }
  std::vector<SizedClass> classes;
  for (auto& [key, same] : of_key) classes.push_back(std::move(same));
  const auto numbers = PartClasses(processes, classes, joined, evidence);
  for (size_t k = 0; k < numbers.size(); ++k) {
    // Named after the process of the lowest rank, so that the name does not change when others
    // join.
    std::map<uint32_t, std::pair<int, uint32_t>> lowest;
    for (uint32_t m = 0; m < numbers[k].size(); ++m) {
      const std::pair<int, uint32_t> own{classes[k].members[m].rank, m};
      const auto [at, is_first] = lowest.try_emplace(numbers[k][m], own);
      if (!is_first) at->second = std::min(at->second, own);
    }
    for (uint32_t m = 0; m < numbers[k].size(); ++m) {
      const SizedMember& member = classes[k].members[m];
      const SizedMember& first = classes[k].members[lowest.at(numbers[k][m]).second];
      Identity& identity = identities[member.process][member.communicator];
      const NcclProcess& named_by = *processes[first.process].facts;
      identity.key = HashCombine(identity.key, named_by.process_id);
      for (const char c : named_by.host) {
        identity.key = HashCombine(identity.key, static_cast<unsigned char>(c));
      }
      identity.was_parted = true;
    }
  }
}

}  // namespace

std::string CommunicatorId(const CommunicatorGroup& group) {
  return fmt::format("nccl-{:x}", group.key);
}

CommunicatorSet MatchCommunicators(std::span<const LoggedProcess> processes,
                                   const JobEvidence& evidence) {
  ProcessIdentities identities(processes.size());
  for (size_t p = 0; p < processes.size(); ++p) {
    Identities of_process(*processes[p].facts);
    for (const NcclCommunicator& communicator : processes[p].facts->communicators) {
      identities[p].push_back(of_process.Next(communicator));
    }
  }
  PartBySize(processes, evidence, identities);
  CommunicatorSet set;
  set.group_of.resize(processes.size());
  std::unordered_map<uint64_t, int> group_of_key;
  for (size_t p = 0; p < processes.size(); ++p) {
    const NcclProcess& process = *processes[p].facts;
    for (size_t c = 0; c < process.communicators.size(); ++c) {
      const NcclCommunicator& communicator = process.communicators[c];
      const Identity& identity = identities[p][c];
      const auto [found, is_new] =
          group_of_key.try_emplace(identity.key, static_cast<int>(set.groups.size()));
      if (is_new) {
        set.groups.push_back({.key = identity.key, .rank_count = communicator.rank_count});
      }
      CommunicatorGroup& group = set.groups[found->second];
      group.matched_by_size |= identity.matched_by_size;
      group.was_parted |= identity.was_parted;
      if (communicator.split) group.color = communicator.split->color;
      if (identity.parent) group.parent = set.group_of[p][*identity.parent];
      if (is_new && identity.is_lone) {
        group.notes.push_back(
            fmt::format("{}: the log of {} does not contain the parent communicator of {}, so its "
                        "other ranks are not matched",
                        processes[p].source, ProcessName(process), CommunicatorId(group)));
      }
      if (group.rank_count != communicator.rank_count) {
        group.notes.push_back(fmt::format(
            "{} has {} ranks according to {} and {} according to others", CommunicatorId(group),
            communicator.rank_count, ProcessName(process), group.rank_count));
        group.rank_count = std::max(group.rank_count, communicator.rank_count);
      }
      const auto [member, is_first] = group.members.try_emplace(
          communicator.rank, GroupMember{.process = p, .communicator = c});
      const bool is_other = !is_first && member->second.process != p;
      if (is_other) {
        group.notes.push_back(fmt::format(
            "rank {} of {} is claimed by {} ({}) and {} ({}); the first is used", communicator.rank,
            CommunicatorId(group), ProcessName(*processes[member->second.process].facts),
            processes[member->second.process].source, ProcessName(process), processes[p].source));
      }
      set.group_of[p].push_back(is_other ? -1 : found->second);
    }
  }
  return set;
}

}  // namespace rocescope

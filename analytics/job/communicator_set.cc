// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/communicator_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.h"

namespace rocescope {
namespace {

// Seeds that keep the three ways to a key apart.
constexpr uint64_t kSplitSeed = 1;
constexpr uint64_t kSizeSeed = 2;
constexpr uint64_t kLoneSeed = 3;

struct Identity {
  uint64_t key = 0;
  std::optional<size_t> parent;  // index into the process's communicators
  bool matched_by_size = false;
  bool is_lone = false;  // a split whose parent the log does not show
};

// Gives the communicators of one process, in their order, the keys that its peers also arrive at.
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
      // Every rank makes its communicators in the same order.
      identity.matched_by_size = true;
      const int ordinal = of_size_[{communicator.cuda_device, communicator.rank_count}]++;
      identity.key = HashCombine(HashCombine(kSizeSeed, communicator.rank_count), ordinal);
    }
    return identity;
  }

  // ncclCommSplit is collective over the parent. Where the release does not number its splits they
  // are counted per colour: a rank that took part without a colour prints nothing.
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

}  // namespace

std::string CommunicatorId(const CommunicatorGroup& group) {
  return fmt::format("nccl-{:x}", group.key);
}

CommunicatorSet MatchCommunicators(std::span<const LoggedProcess> processes) {
  CommunicatorSet set;
  set.group_of.resize(processes.size());
  std::unordered_map<uint64_t, int> group_of_key;
  for (size_t p = 0; p < processes.size(); ++p) {
    const NcclProcess& process = *processes[p].facts;
    Identities identities(process);
    for (size_t c = 0; c < process.communicators.size(); ++c) {
      const NcclCommunicator& communicator = process.communicators[c];
      const Identity identity = identities.Next(communicator);
      const auto [found, is_new] =
          group_of_key.try_emplace(identity.key, static_cast<int>(set.groups.size()));
      if (is_new) {
        set.groups.push_back({.key = identity.key, .rank_count = communicator.rank_count});
      }
      CommunicatorGroup& group = set.groups[found->second];
      group.matched_by_size |= identity.matched_by_size;
      if (communicator.split) group.color = communicator.split->color;
      if (identity.parent) group.parent = set.group_of[p][*identity.parent];
      if (is_new && identity.is_lone) {
        group.notes.push_back(
            fmt::format("{}: the log of {} does not show what {} was split from, so its other "
                        "ranks are not matched",
                        processes[p].source, ProcessName(process), CommunicatorId(group)));
      }
      if (group.rank_count != communicator.rank_count) {
        group.notes.push_back(fmt::format("{} has {} ranks for {} and {} for others",
                                          CommunicatorId(group), communicator.rank_count,
                                          ProcessName(process), group.rank_count));
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

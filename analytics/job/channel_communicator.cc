// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analytics/job/qp_peer.h"

namespace rocescope {
namespace {

// If a process has more live communicators than this, only the latest are considered.
constexpr size_t kMaxConsidered = 64;

bool Fits(const NcclCommunicator& communicator, const NcclChannel& channel) {
  const int own = channel.is_send ? channel.source_rank : channel.destination_rank;
  const int peer = channel.is_send ? channel.destination_rank : channel.source_rank;
  return own == communicator.rank && peer < communicator.rank_count;
}

size_t FirstLine(const NcclCommunicator& communicator) {
  return communicator.begin_line != 0 ? communicator.begin_line : communicator.complete_line;
}

// Before 2.18, the only line of an initialisation is the last one, so channel lines precede it.
bool HasNoBegin(const NcclCommunicator& communicator) { return communicator.begin_line == 0; }

class ChannelAttribution {
 public:
  explicit ChannelAttribution(std::span<const NcclCommunicator> communicators)
      : communicators_(communicators) {
    for (size_t i = 0; i < communicators.size(); ++i) {
      of_thread_[communicators[i].thread_id].push_back(i);
    }
  }

  std::vector<int> Find(const NcclChannel& channel) const {
    const auto thread = of_thread_.find(channel.thread_id);
    if (thread != of_thread_.end()) {
      const int index = FindOnThread(thread->second, channel);
      if (index >= 0) return {index};
    }
    return FindBySize(channel);
  }

 private:
  // The communicators of a thread are in the order of their lines.
  int FindOnThread(const std::vector<size_t>& indices, const NcclChannel& channel) const {
    const auto after = std::ranges::upper_bound(
        indices, channel.line, {}, [&](size_t i) { return FirstLine(communicators_[i]); });
    if (after != indices.begin()) {
      const NcclCommunicator& before = communicators_[*(after - 1)];
      const bool is_initialising =
          (before.complete_line == 0 || before.complete_line > channel.line) &&
          (before.end_line == 0 || before.end_line > channel.line);
      if (is_initialising && Fits(before, channel)) return static_cast<int>(*(after - 1));
    }
    if (after != indices.end()) {
      const NcclCommunicator& next = communicators_[*after];
      if (HasNoBegin(next) && Fits(next, channel)) return static_cast<int>(*after);
    }
    return -1;
  }

  // Connections made after the initialisation come from the thread that launches the operation, so
  // the thread identifies nothing: all live communicators match, preferably those of the same GPU.
  std::vector<int> FindBySize(const NcclChannel& channel) const {
    std::vector<int> same_gpu;
    std::vector<int> other;
    size_t considered = 0;
    const auto begun = std::ranges::upper_bound(communicators_, channel.line, {}, FirstLine);
    for (auto i = begun; i != communicators_.begin() && considered < kMaxConsidered;) {
      --i;
      ++considered;
      if (i->end_line != 0 && i->end_line < channel.line) continue;
      if (!Fits(*i, channel)) continue;
      const bool is_same_gpu = i->cuda_device == channel.cuda_device;
      (is_same_gpu ? same_gpu : other).push_back(static_cast<int>(i - communicators_.begin()));
    }
    std::vector<int>& best = same_gpu.empty() ? other : same_gpu;
    std::ranges::reverse(best);
    return best;
  }

  std::span<const NcclCommunicator> communicators_;
  std::unordered_map<uint64_t, std::vector<size_t>> of_thread_;
};

}  // namespace

ChannelCommunicators CommunicatorsOfChannels(std::span<const NcclCommunicator> communicators,
                                             std::span<const NcclChannel> channels) {
  const ChannelAttribution attribution(communicators);
  ChannelCommunicators result;
  result.list_of.reserve(channels.size());
  std::map<std::vector<int>, uint32_t> known;
  for (const NcclChannel& channel : channels) {
    const auto [at, is_new] =
        known.try_emplace(attribution.Find(channel), static_cast<uint32_t>(result.lists.size()));
    if (is_new) result.lists.push_back(at->first);
    result.list_of.push_back(at->second);
  }
  return result;
}

}  // namespace rocescope

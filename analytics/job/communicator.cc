// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analytics/job/communicator_set.h"
#include "analytics/job/host_name.h"
#include "analytics/job/process_set.h"

namespace rocescope {
namespace {

// Disjoint sets of processes.
class Components {
 public:
  explicit Components(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(size_t a, size_t b) { parent_[Root(a)] = Root(b); }

 private:
  std::vector<size_t> parent_;
};

// "rank 1", or "ranks 1, 3-5", from ranges in ascending order.
class RankText {
 public:
  void Add(int first, int last) {
    if (first > last) return;
    if (count_ != 0 && first == last_ + 1) {
      last_ = last;  // joins the open range
    } else {
      Flush();
      first_ = first;
      last_ = last;
    }
    count_ += last - first + 1;
  }
  int count() const { return count_; }
  std::string Text() {
    Flush();
    return (count_ == 1 ? "rank " : "ranks ") + text_;
  }

 private:
  void Flush() {
    if (last_ < first_) return;
    if (!text_.empty()) text_ += ", ";
    text_ += first_ == last_ ? fmt::format("{}", first_) : fmt::format("{}-{}", first_, last_);
    last_ = first_ - 1;
  }

  std::string text_;
  int first_ = 0;
  int last_ = -1;
  int count_ = 0;
};

class JobBuilder {
 public:
  JobBuilder(std::span<const LoggedProcess> processes, const CommunicatorSet& set,
             std::vector<size_t> own_processes, std::vector<int> own_groups)
      : processes_(processes),
        set_(set),
        own_processes_(std::move(own_processes)),
        own_groups_(std::move(own_groups)) {}

  Job Build() {
    std::ranges::sort(own_groups_, {}, [&](int g) { return SortKey(set_.groups[g]); });
    AddRanks();
    AddCommunicators();
    AddQueuePairs();
    AddReceives();
    for (JobRank& rank : job_.ranks) {
      std::ranges::sort(rank.addresses);
      rank.addresses.erase(std::ranges::unique(rank.addresses).begin(), rank.addresses.end());
    }
    AddNotes();
    return std::move(job_);
  }

 private:
  using Place = std::pair<size_t, int>;  // process, CUDA device

  // The largest first; of equals the one with more logs, then the one made first.
  std::tuple<int, int, size_t, uint64_t> SortKey(const CommunicatorGroup& group) const {
    size_t first = SIZE_MAX;
    for (const auto& [rank, member] : group.members) first = std::min(first, member.communicator);
    return {-group.rank_count, -static_cast<int>(group.members.size()), first, group.key};
  }

  const CommunicatorGroup& World() const { return set_.groups[own_groups_.front()]; }

  const NcclCommunicator& Of(const GroupMember& member) const {
    return processes_[member.process].facts->communicators[member.communicator];
  }

  void AddRank(int rank, size_t process, const NcclCommunicator& communicator) {
    const Place place{process, communicator.cuda_device};
    if (!rank_of_place_.try_emplace(place, job_.ranks.size()).second) return;
    const NcclProcess& facts = *processes_[process].facts;
    if (job_.nccl_version.empty()) job_.nccl_version = facts.version;
    const bool is_first_of_process = first_rank_.try_emplace(process, job_.ranks.size()).second;
    job_.ranks.push_back({.rank = rank,
                          .host = facts.host,
                          .process_id = facts.process_id,
                          .cuda_device = communicator.cuda_device,
                          .nvml_device = communicator.nvml_device,
                          .gpu_bus_id = FormatPciAddress(communicator.bus_id),
                          .oob_interface = facts.oob_interface,
                          .oob_address = facts.oob_address,
                          .devices = facts.devices,
                          .errors = is_first_of_process ? facts.errors : std::vector<NcclError>{},
                          .source = processes_[process].source});
  }

  void AddRanks() {
    const CommunicatorGroup& world = World();
    job_.id = CommunicatorId(world);
    job_.rank_count = world.rank_count;
    for (const auto& [rank, member] : world.members) AddRank(rank, member.process, Of(member));
    job_.ranks_seen = static_cast<int>(job_.ranks.size());
    for (const int g : own_groups_) {
      for (const auto& [rank, member] : set_.groups[g].members) {
        AddRank(-1, member.process, Of(member));
      }
    }
  }

  void AddCommunicators() {
    for (const int g : own_groups_) {
      const CommunicatorGroup& group = set_.groups[g];
      index_of_group_[g] = static_cast<int>(job_.communicators.size());
      JobCommunicator& communicator = job_.communicators.emplace_back();
      communicator.id = CommunicatorId(group);
      communicator.rank_count = group.rank_count;
      communicator.color = group.color;
      communicator.matched_by_size = group.matched_by_size;
      if (group.parent >= 0) communicator.parent_id = CommunicatorId(set_.groups[group.parent]);
      for (const auto& [rank, member] : group.members) {
        const NcclCommunicator& facts = Of(member);
        communicator.is_complete &= facts.complete_line != 0;
        communicator.was_aborted |= facts.aborted;
        communicator.members.push_back(
            {.rank = rank, .job_rank = rank_of_place_.at({member.process, facts.cuda_device})});
      }
    }
  }

  // A rank of a communicator in the job's numbering.
  int JobRankOf(int group, int rank) const {
    if (group < 0 || rank < 0) return -1;
    if (group == own_groups_.front()) return rank;  // known without its log
    const auto member = set_.groups[group].members.find(rank);
    if (member == set_.groups[group].members.end()) return -1;
    const Place place{member->second.process, Of(member->second).cuda_device};
    return job_.ranks[rank_of_place_.at(place)].rank;
  }

  int GroupOf(size_t process, int communicator) const {
    return communicator < 0 ? -1 : set_.group_of[process][communicator];
  }

  JobPeer ToJobPeer(size_t process, const PeerCandidate& peer) const {
    const int group = GroupOf(process, peer.communicator);
    return {.own_rank = JobRankOf(group, peer.own_rank),
            .peer_rank = JobRankOf(group, peer.peer_rank)};
  }

  // With PXN the connection belongs to the proxy rank's process on the same host.
  void FindProxied() {
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      if (std::ranges::none_of(process.channels, [](const NcclChannel& channel) {
            return channel.proxy_rank >= 0;
          })) {
        continue;
      }
      const std::vector<int> communicators =
          CommunicatorOfChannels(process.communicators, process.channels);
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        const int group = GroupOf(p, communicators[i]);
        if (channel.proxy_rank < 0 || !channel.net.starts_with("IB") || group < 0) continue;
        const auto proxy = set_.groups[group].members.find(channel.proxy_rank);
        if (proxy == set_.groups[group].members.end()) continue;
        const GroupMember& member = proxy->second;
        if (!SameHost(processes_[member.process].facts->host, process.host)) continue;
        proxied_[member.process].push_back(
            {.channel = channel, .communicator = static_cast<int>(member.communicator)});
      }
    }
  }

  JobRank& OwnerOf(size_t process, const QueuePairPeer& peer, const NcclQueuePair& facts) {
    int cuda_device = facts.cuda_device;
    if (peer.peer.communicator >= 0) {
      cuda_device = processes_[process].facts->communicators[peer.peer.communicator].cuda_device;
    }
    const auto found = rank_of_place_.find({process, cuda_device});
    return job_.ranks[found != rank_of_place_.end() ? found->second : first_rank_.at(process)];
  }

  static std::string DeviceName(const NcclProcess& process, const NcclQueuePair& queue_pair) {
    if (!queue_pair.device_name.empty()) return queue_pair.device_name;
    const auto device =
        std::ranges::find(process.devices, queue_pair.ib_device, &NcclDevice::index);
    return queue_pair.ib_device < 0 || device == process.devices.end() ? "" : device->name;
  }

  void AddQueuePairs() {
    FindProxied();
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      std::map<const void*, std::shared_ptr<const std::vector<JobPeer>>> converted;
      for (const QueuePairPeer& peer : JoinQueuePairs(process, proxied_[p])) {
        const NcclQueuePair& facts = process.queue_pairs[peer.queue_pair];
        const int group = GroupOf(p, peer.peer.communicator);
        JobQueuePair queue_pair{.local = facts.local,
                                .remote = peer.remote,
                                .role = facts.role,
                                .device = DeviceName(process, facts),
                                .port = facts.port,
                                .address = facts.address,
                                .mtu = facts.mtu,
                                .fifo_rkey = facts.fifo_rkey,
                                .communicator = group < 0 ? -1 : index_of_group_.at(group),
                                .channel = peer.channel,
                                .peer = ToJobPeer(p, peer.peer),
                                .certainty = peer.certainty,
                                .is_sender = peer.is_sender,
                                .may_be_loopback = peer.may_be_loopback,
                                .line = facts.line};
        if (peer.certainty == PeerCertainty::kAmbiguous) {
          auto& candidates = converted[peer.candidates.get()];
          if (candidates == nullptr) candidates = Convert(p, *peer.candidates);
          queue_pair.candidates = candidates;
        }
        JobRank& owner = OwnerOf(p, peer, facts);
        if (facts.address) owner.addresses.push_back(*facts.address);
        owner.queue_pairs.push_back(std::move(queue_pair));
      }
    }
  }

  // A receiver prints no number of its queue pairs, but its channels say who sends.
  void AddReceives() {
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      const std::vector<int> communicators =
          CommunicatorOfChannels(process.communicators, process.channels);
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        const int group = GroupOf(p, communicators[i]);
        if (channel.is_send || !channel.net.starts_with("IB") || group < 0) continue;
        const auto place = rank_of_place_.find(
            {p, process.communicators[static_cast<size_t>(communicators[i])].cuda_device});
        const int source = JobRankOf(group, channel.source_rank);
        if (source < 0 || place == rank_of_place_.end()) continue;
        job_.ranks[place->second].receives_from.push_back(source);
      }
    }
    for (JobRank& rank : job_.ranks) {
      std::ranges::sort(rank.receives_from);
      rank.receives_from.erase(std::ranges::unique(rank.receives_from).begin(),
                               rank.receives_from.end());
    }
  }

  std::shared_ptr<const std::vector<JobPeer>> Convert(
      size_t process, const std::vector<PeerCandidate>& candidates) const {
    std::vector<JobPeer> peers;
    for (const PeerCandidate& candidate : candidates) {
      peers.push_back(ToJobPeer(process, candidate));
    }
    std::ranges::sort(peers);
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    return std::make_shared<const std::vector<JobPeer>>(std::move(peers));
  }

  void AddNotes() {
    const CommunicatorGroup& world = World();
    RankText missing;
    int next = 0;
    for (const auto& [rank, member] : world.members) {
      missing.Add(next, rank - 1);
      next = rank + 1;
    }
    missing.Add(next, world.rank_count - 1);
    if (missing.count() != 0) {
      job_.notes.push_back(fmt::format("no log for {} of {}", missing.Text(), world.rank_count));
    }
    for (const int g : own_groups_) {
      const CommunicatorGroup& group = set_.groups[g];
      job_.notes.insert(job_.notes.end(), group.notes.begin(), group.notes.end());
      if (group.matched_by_size) {
        job_.notes.push_back(fmt::format(
            "{}: this NCCL release prints no commId; communicators are matched by size and order",
            CommunicatorId(group)));
      }
      RankText incomplete;
      for (const auto& [rank, member] : group.members) {
        if (Of(member).complete_line == 0) incomplete.Add(rank, rank);
      }
      if (incomplete.count() != 0) {
        job_.notes.push_back(fmt::format("{} of {} did not complete the initialisation",
                                         incomplete.Text(), CommunicatorId(group)));
      }
    }
    for (const size_t p : own_processes_) {
      job_.notes.insert(job_.notes.end(), processes_[p].notes.begin(), processes_[p].notes.end());
    }
  }

  std::span<const LoggedProcess> processes_;
  const CommunicatorSet& set_;
  std::vector<size_t> own_processes_;
  std::vector<int> own_groups_;
  std::map<Place, size_t> rank_of_place_;
  std::map<size_t, size_t> first_rank_;
  std::map<int, int> index_of_group_;
  std::map<size_t, std::vector<ProxiedChannel>> proxied_;
  Job job_;
};

}  // namespace

std::vector<Job> GroupJobs(std::span<const NcclLog> logs) {
  const std::vector<LoggedProcess> processes = CollectProcesses(logs);
  const CommunicatorSet set = MatchCommunicators(processes);
  Components components(processes.size());
  for (const CommunicatorGroup& group : set.groups) {
    for (const auto& [rank, member] : group.members) {
      components.Unite(member.process, group.members.begin()->second.process);
    }
  }
  std::map<size_t, std::pair<std::vector<size_t>, std::vector<int>>> parts;
  for (size_t g = 0; g < set.groups.size(); ++g) {
    const size_t root = components.Root(set.groups[g].members.begin()->second.process);
    parts[root].second.push_back(static_cast<int>(g));
  }
  for (size_t p = 0; p < processes.size(); ++p) {
    const auto part = parts.find(components.Root(p));
    if (part != parts.end()) part->second.first.push_back(p);
  }
  std::vector<Job> jobs;
  for (auto& [root, part] : parts) {
    JobBuilder builder(processes, set, std::move(part.first), std::move(part.second));
    jobs.push_back(builder.Build());
  }
  std::ranges::sort(jobs, {}, [](const Job& job) { return std::pair(-job.rank_count, job.id); });
  return jobs;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analytics/job/host_name.h"
#include "analytics/job/rank_text.h"

namespace rocescope {
namespace {

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
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      of_channels_[p] = CommunicatorsOfChannels(process.communicators, process.channels);
    }
    AddRanks();
    AddCommunicators();
    AddQueuePairs();
    AddChannels();
    AddNotes();
    return std::move(job_);
  }

 private:
  using Place = std::pair<size_t, int>;  // process, CUDA device

  // Largest first; ties are resolved by the number of logs, then by creation order.
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
      communicator.was_parted = group.was_parted;
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

  // Identity of a communicator's rank in the job: its rank there, or the index of its log.
  struct Seat {
    int rank = -1;
    int member = -1;

    friend constexpr bool operator==(const Seat&, const Seat&) = default;
  };

  Seat SeatOf(int group, int rank) const {
    if (group < 0 || rank < 0) return {};
    if (group == own_groups_.front()) return {.rank = rank};  // known without its log
    const auto member = set_.groups[group].members.find(rank);
    if (member == set_.groups[group].members.end()) return {};
    const Place place{member->second.process, Of(member->second).cuda_device};
    const size_t index = rank_of_place_.at(place);
    if (job_.ranks[index].rank >= 0) return {.rank = job_.ranks[index].rank};
    return {.member = static_cast<int>(index)};
  }

  int GroupOf(size_t process, int communicator) const {
    return communicator < 0 ? -1 : set_.group_of[process][communicator];
  }

  JobPeer ToJobPeer(size_t process, const PeerCandidate& peer) const {
    const int group = GroupOf(process, peer.communicator);
    const Seat own = SeatOf(group, peer.own_rank);
    const Seat other = SeatOf(group, peer.peer_rank);
    return {.own_rank = own.rank,
            .peer_rank = other.rank,
            .own_member = own.member,
            .peer_member = other.member};
  }

  // With PXN, the connection belongs to the process of the proxy rank on the same host.
  void FindProxied() {
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      if (std::ranges::none_of(process.channels, [](const NcclChannel& channel) {
            return channel.proxy_rank >= 0;
          })) {
        continue;
      }
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        if (channel.proxy_rank < 0 || !channel.net.starts_with("IB")) continue;
        for (const int communicator : of_channels_.at(p)[i]) {
          AddProxied(process, channel, GroupOf(p, communicator));
        }
      }
    }
  }

  void AddProxied(const NcclProcess& process, const NcclChannel& channel, int group) {
    if (group < 0) return;
    const auto proxy = set_.groups[group].members.find(channel.proxy_rank);
    if (proxy == set_.groups[group].members.end()) return;
    const GroupMember& member = proxy->second;
    if (!SameHost(processes_[member.process].facts->host, process.host)) return;
    proxied_[member.process].push_back(
        {.channel = channel, .communicator = static_cast<int>(member.communicator)});
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

  using Converted = std::map<const void*, std::shared_ptr<const std::vector<JobPeer>>>;

  // Several candidates in communicator numbering may be the same in the job's numbering.
  void SetCandidates(size_t process, const QueuePairPeer& peer, Converted& converted,
                     JobQueuePair& queue_pair) const {
    const auto convert = [&](const auto& candidates) {
      auto& result = converted[candidates.get()];
      if (result == nullptr) result = Convert(process, *candidates);
      return result;
    };
    const auto is_known = [](const JobPeer& p) { return p.peer_rank >= 0 || p.peer_member >= 0; };
    if (queue_pair.certainty == PeerCertainty::kAmbiguous) {
      queue_pair.candidates = convert(peer.candidates);
      const std::vector<JobPeer>& candidates = *queue_pair.candidates;
      if (candidates.size() != 1 || !is_known(candidates[0])) return;
      if (peer.if_one == PeerCertainty::kAmbiguous) return;
      queue_pair.peer = candidates[0];
      queue_pair.certainty = peer.if_one;
      queue_pair.candidates = nullptr;
    }
    if (queue_pair.certainty != PeerCertainty::kOrdered || peer.everyone == nullptr) return;
    queue_pair.candidates = convert(peer.everyone);
    if (queue_pair.candidates->size() > 1) return;
    queue_pair.certainty = PeerCertainty::kExact;
    queue_pair.candidates = nullptr;
  }

  void AddQueuePairs() {
    FindProxied();
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      // Keyed by pointers into the result of JoinQueuePairs, which must outlive the loop.
      Converted converted;
      const std::vector<QueuePairPeer> peers = JoinQueuePairs(process, proxied_[p]);
      for (const QueuePairPeer& peer : peers) {
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
        SetCandidates(p, peer, converted, queue_pair);
        JobRank& owner = OwnerOf(p, peer, facts);
        if (!queue_pair.device.empty()) {
          owner.ports.push_back({.device = queue_pair.device, .port = queue_pair.port});
        }
        if (facts.address) owner.addresses.push_back(*facts.address);
        owner.queue_pairs.push_back(std::move(queue_pair));
      }
    }
  }

  // Adds what channels report beyond queue pairs: the ports that a rank uses, and the ranks from
  // which it receives. A receiver may print no queue pair number.
  void AddChannels() {
    for (const size_t p : own_processes_) {
      const NcclProcess& process = *processes_[p].facts;
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        const std::vector<int>& communicators = of_channels_.at(p)[i];
        if (!channel.net.starts_with("IB") || communicators.empty()) continue;
        const int cuda_device =
            process.communicators[static_cast<size_t>(communicators[0])].cuda_device;
        const auto place = rank_of_place_.find({p, cuda_device});
        if (place == rank_of_place_.end()) continue;
        JobRank& rank = job_.ranks[place->second];
        AddPorts(process, channel.net_device, rank.ports);
        AddPorts(process, channel.net_device, rank.net_devices[channel.net_device]);
        for (const int communicator : communicators) {
          AddChannel(channel, p, communicator, rank.channels);
        }
        if (channel.is_send) continue;
        const Seat source = SeatOf(GroupOf(p, communicators[0]), channel.source_rank);
        const bool is_one = std::ranges::all_of(communicators, [&](int communicator) {
          return SeatOf(GroupOf(p, communicator), channel.source_rank) == source;
        });
        if (is_one && source.rank >= 0) rank.receives_from.push_back(source.rank);
      }
    }
    for (JobRank& rank : job_.ranks) {
      MakeSet(rank.receives_from);
      MakeSet(rank.ports);
      MakeSet(rank.channels);
      for (auto& [device, ports] : rank.net_devices) MakeSet(ports);
    }
  }

  void AddChannel(const NcclChannel& channel, size_t process, int communicator,
                  std::vector<JobChannel>& channels) const {
    const int group = GroupOf(process, communicator);
    if (group < 0) return;
    PeerCandidate peer = {.communicator = communicator,
                          .own_rank = channel.source_rank,
                          .peer_rank = channel.destination_rank};
    if (!channel.is_send) std::swap(peer.own_rank, peer.peer_rank);
    channels.push_back({.line = channel.line,
                        .communicator = index_of_group_.at(group),
                        .channel = channel.channel,
                        .connection = channel.connection,
                        .net_device = channel.net_device,
                        .is_send = channel.is_send,
                        .peer = ToJobPeer(process, peer)});
  }

  template <typename T>
  static void MakeSet(std::vector<T>& values) {
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
  }

  // The net device of a channel line is a NIC port, unless ports were merged.
  static void AddPorts(const NcclProcess& process, int net_device, std::vector<NicPort>& ports) {
    const auto made =
        std::ranges::find(process.virtual_devices, net_device, &NcclVirtualDevice::net_device);
    const std::string merged = made == process.virtual_devices.end() ? "" : "+" + made->name + "+";
    for (const NcclDevice& device : process.devices) {
      const bool is_it = !merged.empty() ? merged.find("+" + device.name + "+") != std::string::npos
                                         : (device.net_device >= 0 ? device.net_device
                                                                   : device.index) == net_device;
      if (is_it) ports.push_back({.device = device.name, .port = device.port});
    }
  }

  std::shared_ptr<const std::vector<JobPeer>> Convert(
      size_t process, const std::vector<PeerCandidate>& candidates) const {
    std::vector<JobPeer> peers;
    for (const PeerCandidate& candidate : candidates) {
      peers.push_back(ToJobPeer(process, candidate));
    }
    MakeSet(peers);
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
      job_.notes.push_back(
          fmt::format("no NCCL log for {} of {}", missing.Text(), world.rank_count));
    }
    for (const int g : own_groups_) {
      const CommunicatorGroup& group = set_.groups[g];
      job_.notes.insert(job_.notes.end(), group.notes.begin(), group.notes.end());
      if (group.matched_by_size) {
        job_.notes.push_back(fmt::format(
            "{}: this NCCL release prints no commId; communicators are matched by size and order{}",
            CommunicatorId(group),
            group.was_parted ? ", and distinguished by their peers, hosts and scheduler allocations"
                             : ""));
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
  std::map<size_t, std::vector<std::vector<int>>> of_channels_;  // communicators, by process
  std::map<size_t, std::vector<ProxiedChannel>> proxied_;
  Job job_;
};

}  // namespace

Job BuildJob(std::span<const LoggedProcess> processes, const CommunicatorSet& set,
             std::vector<size_t> own_processes, std::vector<int> own_groups) {
  return JobBuilder(processes, set, std::move(own_processes), std::move(own_groups)).Build();
}

}  // namespace rocescope

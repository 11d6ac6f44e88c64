// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analytics/job/host_name.h"
#include "analytics/job/rank_text.h"

namespace rocescope {
namespace {

template <typename T>
void MakeSet(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

// The NIC ports of a process's net devices. A net device is one port, unless ports were merged.
class NetDevices {
 public:
  // Keeps a reference to the process.
  explicit NetDevices(const NcclProcess& process) {
    for (const NcclVirtualDevice& made : process.virtual_devices) {
      merged_.try_emplace(made.net_device, made.name);
    }
    for (const NcclDevice& device : process.devices) {
      by_name_[device.name].push_back(&device);
      by_number_[device.net_device >= 0 ? device.net_device : device.index].push_back(&device);
    }
  }

  // Ascending.
  std::vector<NicPort> PortsOf(int net_device) const {
    std::vector<NicPort> ports;
    const auto add = [&](const auto& table, const auto& key) {
      const auto at = table.find(key);
      if (at == table.end()) return;
      for (const NcclDevice* device : at->second) {
        ports.push_back({.device = device->name, .port = device->port});
      }
    };
    const auto made = merged_.find(net_device);
    if (made == merged_.end()) {
      add(by_number_, net_device);
    } else {
      for (const std::string_view name : NamesIn(made->second)) add(by_name_, name);
    }
    MakeSet(ports);
    if (ports.size() > kMaxPortsOfNetDevice) ports.resize(kMaxPortsOfNetDevice);
    return ports;
  }

 private:
  // The name of a virtual device consists of those of its devices: "mlx5_0+mlx5_1".
  static std::set<std::string_view> NamesIn(std::string_view merged) {
    std::set<std::string_view> names;
    while (true) {
      const size_t end = merged.find('+');
      names.insert(merged.substr(0, end));
      if (end == std::string_view::npos) return names;
      merged.remove_prefix(end + 1);
    }
  }

  using Devices = std::vector<const NcclDevice*>;

  std::unordered_map<int, std::string_view> merged_;  // names of virtual devices
  std::unordered_map<std::string_view, Devices> by_name_;
  std::unordered_map<int, Devices> by_number_;
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
      const ChannelCommunicators& of_channels = of_channels_.at(p);
      std::set<std::tuple<uint32_t, int, int, int, int>> seen;
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        if (channel.proxy_rank < 0 || !channel.net.starts_with("IB")) continue;
        // Channels that differ only in their number are one candidate.
        const bool is_new =
            seen.emplace(of_channels.list_of[i], channel.proxy_rank, channel.net_device,
                         channel.source_rank, channel.destination_rank)
                .second;
        if (!is_new) continue;
        for (const int communicator : of_channels[i]) {
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
        {.net_device = channel.net_device,
         .peer = {.communicator = static_cast<int>(member.communicator),
                  .own_rank = channel.source_rank,
                  .peer_rank = channel.destination_rank}});
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
      const NetDevices net_devices(process);
      const ChannelCommunicators& of_channels = of_channels_.at(p);
      std::map<std::tuple<uint32_t, int, int>, ChannelPeers> known;
      for (size_t i = 0; i < process.channels.size(); ++i) {
        const NcclChannel& channel = process.channels[i];
        const std::vector<int>& communicators = of_channels[i];
        if (!channel.net.starts_with("IB") || communicators.empty()) continue;
        const int cuda_device =
            process.communicators[static_cast<size_t>(communicators[0])].cuda_device;
        const auto place = rank_of_place_.find({p, cuda_device});
        if (place == rank_of_place_.end()) continue;
        JobRank& rank = job_.ranks[place->second];
        const auto [ports, is_new] = rank.net_devices.try_emplace(channel.net_device);
        if (is_new) {
          ports->second = net_devices.PortsOf(channel.net_device);
          rank.ports.insert(rank.ports.end(), ports->second.begin(), ports->second.end());
        }
        PeerCandidate peer = {.own_rank = channel.source_rank,
                              .peer_rank = channel.destination_rank};
        if (!channel.is_send) std::swap(peer.own_rank, peer.peer_rank);
        const auto [peers, is_unknown] =
            known.try_emplace({of_channels.list_of[i], peer.own_rank, peer.peer_rank});
        if (is_unknown) peers->second = InEach(p, communicators, peer);
        if (!channel.is_send && peers->second.peer_rank >= 0) {
          rank.receives_from.push_back(peers->second.peer_rank);
        }
        if (peers->second.possible.empty()) continue;
        rank.channels.push_back({.line = channel.line,
                                 .channel = channel.channel,
                                 .connection = channel.connection,
                                 .net_device = channel.net_device,
                                 .is_send = channel.is_send,
                                 .possible = peers->second.possible});
      }
    }
    for (JobRank& rank : job_.ranks) {
      MakeSet(rank.receives_from);
      MakeSet(rank.ports);
      std::ranges::stable_sort(rank.channels, {}, &JobChannel::line);
    }
  }

  // The same two ranks in each of several communicators of a process.
  struct ChannelPeers {
    SharedList<JobChannelPeer> possible;
    int peer_rank = -1;  // if it is the same in all of them
  };

  ChannelPeers InEach(size_t process, const std::vector<int>& communicators,
                      PeerCandidate peer) const {
    std::vector<JobChannelPeer> possible;
    const Seat first = SeatOf(GroupOf(process, communicators[0]), peer.peer_rank);
    bool is_one = true;
    for (const int communicator : communicators) {
      const int group = GroupOf(process, communicator);
      is_one = is_one && SeatOf(group, peer.peer_rank) == first;
      if (group < 0) continue;
      peer.communicator = communicator;
      possible.push_back(
          {.communicator = index_of_group_.at(group), .peer = ToJobPeer(process, peer)});
    }
    MakeSet(possible);
    return {.possible = std::move(possible), .peer_rank = is_one ? first.rank : -1};
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
  std::map<size_t, ChannelCommunicators> of_channels_;  // by process
  std::map<size_t, std::vector<ProxiedChannel>> proxied_;
  Job job_;
};

}  // namespace

Job BuildJob(std::span<const LoggedProcess> processes, const CommunicatorSet& set,
             std::vector<size_t> own_processes, std::vector<int> own_groups) {
  return JobBuilder(processes, set, std::move(own_processes), std::move(own_groups)).Build();
}

}  // namespace rocescope

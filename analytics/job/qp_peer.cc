// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/qp_peer.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rocescope {
namespace {

using Candidates = std::shared_ptr<const std::vector<PeerCandidate>>;

constexpr int kAny = -1;
constexpr size_t kNoPosition = SIZE_MAX;
// If queue pairs of more GPUs use a net device for which channels are proxied, they share one list
// of candidates. The work is then linear, and the candidates are a superset.
constexpr size_t kMaxGpusOfDevice = 64;
constexpr int kNetTransport = 2;  // transport number in `New proxy send connection`

// A connection announced by a channel line.
struct Announced {
  size_t line = 0;
  int channel = -1;
  PeerCandidate peer;   // if its communicator is known
  Candidates possible;  // otherwise one candidate per possible communicator
};

// A sequence of channel lines followed by a sequence of queue pair lines.
struct Round {
  std::vector<Announced> announced;
  std::vector<size_t> queue_pairs;
};

// The scope within which lines are joined: one direction, one GPU, one net device.
struct Group {
  std::vector<Announced> announced;
  std::vector<size_t> queue_pairs;
  Candidates proxied;  // null: none
};

struct GroupKey {
  bool is_send = false;
  int cuda_device = kAny;
  int net_device = kAny;

  friend constexpr auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

Candidates Distinct(std::vector<PeerCandidate> peers) {
  std::ranges::sort(peers);
  peers.erase(std::ranges::unique(peers).begin(), peers.end());
  return std::make_shared<const std::vector<PeerCandidate>>(std::move(peers));
}

// The candidates of channels whose communicator is unknown. Channels between the same ranks share
// them.
class UnknownCommunicators {
 public:
  explicit UnknownCommunicators(const ChannelCommunicators& communicators)
      : communicators_(communicators) {}

  // Returns the same two ranks in each possible communicator of the channel.
  Candidates InEach(size_t channel, PeerCandidate peer) {
    Candidates& known = known_[{communicators_.list_of[channel], peer.own_rank, peer.peer_rank}];
    if (known != nullptr) return known;
    std::vector<PeerCandidate> peers;
    for (const int communicator : communicators_[channel]) {
      peer.communicator = communicator;
      peers.push_back(peer);
    }
    return known = Distinct(std::move(peers));
  }

 private:
  const ChannelCommunicators& communicators_;
  // The key is the index of the list of communicators and the two ranks.
  std::map<std::tuple<uint32_t, int, int>, Candidates> known_;
};

std::vector<PeerCandidate> PeersOf(const std::vector<Announced>& all) {
  std::vector<PeerCandidate> peers;
  std::set<const void*> shared;
  for (const Announced& announced : all) {
    if (announced.possible == nullptr) {
      peers.push_back(announced.peer);
    } else if (shared.insert(announced.possible.get()).second) {
      peers.insert(peers.end(), announced.possible->begin(), announced.possible->end());
    }
  }
  return peers;
}

std::vector<Round> Rounds(const Group& group, const std::vector<NcclQueuePair>& queue_pairs) {
  std::vector<Round> rounds;
  auto announced = group.announced.begin();
  for (const size_t index : group.queue_pairs) {
    const size_t line = queue_pairs[index].line;
    const bool is_new = announced != group.announced.end() && announced->line < line;
    if (is_new || rounds.empty()) rounds.emplace_back();
    while (announced != group.announced.end() && announced->line < line) {
      rounds.back().announced.push_back(*announced++);
    }
    rounds.back().queue_pairs.push_back(index);
  }
  return rounds;
}

// Returns the number of queue pairs per announced connection if the counts match, otherwise 0.
size_t Ratio(const Round& round) {
  const size_t announced = round.announced.size();
  const size_t found = round.queue_pairs.size();
  return announced != 0 && found % announced == 0 ? found / announced : 0;
}

void Append(const Round& round, Round& pool) {
  pool.announced.insert(pool.announced.end(), round.announced.begin(), round.announced.end());
  pool.queue_pairs.insert(pool.queue_pairs.end(), round.queue_pairs.begin(),
                          round.queue_pairs.end());
}

class QueuePairJoin {
 public:
  QueuePairJoin(const NcclProcess& process, std::span<const ProxiedChannel> proxied)
      : process_(process), proxied_(proxied) {}

  std::vector<QueuePairPeer> Run() {
    const size_t count = process_.queue_pairs.size();
    peers_.resize(count);
    connection_size_.resize(count);
    position_.resize(count, kNoPosition);
    Survey();
    FillGroups();
    for (const auto& [key, group] : groups_) Resolve(key, group);
    MarkLoopbacks();
    const std::vector<std::optional<Qpn>> remote = RemoteQpnsFromEce(process_, connection_size_);
    for (size_t i = 0; i < count; ++i) {
      peers_[i].queue_pair = i;
      peers_[i].remote =
          process_.queue_pairs[i].remote ? process_.queue_pairs[i].remote : remote[i];
      if (peers_[i].certainty == PeerCertainty::kAmbiguous && peers_[i].candidates == nullptr) {
        peers_[i].candidates = Distinct({});
      }
    }
    return std::move(peers_);
  }

 private:
  void Survey() {
    std::set<int> cuda_devices;
    std::set<int> own_local_ranks;
    for (const NcclCommunicator& communicator : process_.communicators) {
      cuda_devices.insert(communicator.cuda_device);
      if (communicator.local_rank >= 0) own_local_ranks.insert(communicator.local_rank);
    }
    has_several_gpus_ = cuda_devices.size() > 1;
    const auto is_merged = [](const auto& facts) { return facts.merged; };
    devices_are_merged_ =
        std::ranges::any_of(process_.queue_pairs, is_merged) ||
        std::ranges::any_of(process_.virtual_devices,
                            [](const auto& device) { return device.device_count > 1; }) ||
        std::ranges::any_of(process_.devices,
                            [](const auto& device) { return device.net_device >= 0; });
    // With PXN, another local rank requests a connection for sending.
    serves_others_ = std::ranges::any_of(process_.proxy_connections, [&](const auto& connection) {
      return connection.is_send && connection.transport == kNetTransport &&
             !own_local_ranks.empty() && !own_local_ranks.contains(connection.local_rank);
    });
    has_flush_lines_ = std::ranges::any_of(process_.queue_pairs, [](const auto& queue_pair) {
      return queue_pair.role == NcclQueuePairRole::kFlush;
    });
  }

  GroupKey Key(bool is_send, int cuda_device, int net_device) const {
    return {.is_send = is_send,
            .cuda_device = has_several_gpus_ ? cuda_device : kAny,
            .net_device = net_device};
  }

  // `QP created` contains the NIC port and not the net device. Both have the same number unless
  // ports are merged.
  GroupKey KeyOf(const NcclQueuePair& queue_pair) const {
    const bool is_send = queue_pair.role == NcclQueuePairRole::kSend;
    if (is_send) {
      const int device = queue_pair.net_device >= 0 ? queue_pair.net_device : queue_pair.ib_device;
      return Key(true, queue_pair.cuda_device, device);
    }
    // TRACE lines contain no device.
    const bool by_device = !devices_are_merged_ && queue_pair.ib_device >= 0;
    return Key(false, queue_pair.cuda_device, by_device ? queue_pair.ib_device : kAny);
  }

  void FillGroups() {
    std::vector<size_t> stated;
    for (size_t i = 0; i < process_.queue_pairs.size(); ++i) {
      const NcclQueuePair& queue_pair = process_.queue_pairs[i];
      if (queue_pair.role == NcclQueuePairRole::kFlush) {
        peers_[i].certainty = PeerCertainty::kExact;
        peers_[i].may_be_loopback = true;
      } else if (queue_pair.role == NcclQueuePairRole::kDeviceMain) {
        stated.push_back(i);
      } else {
        groups_[KeyOf(queue_pair)].queue_pairs.push_back(i);
      }
    }
    ResolveStated(stated);
    const ChannelCommunicators communicators =
        CommunicatorsOfChannels(process_.communicators, process_.channels);
    UnknownCommunicators unknown(communicators);
    for (size_t i = 0; i < process_.channels.size(); ++i) {
      const NcclChannel& channel = process_.channels[i];
      // Plugins based on NCCL's verbs transport have names such as IBext.
      if (!channel.net.starts_with("IB") || channel.proxy_rank >= 0) continue;
      Announced announced{.line = channel.line, .channel = channel.channel};
      const PeerCandidate peer{
          .own_rank = channel.is_send ? channel.source_rank : channel.destination_rank,
          .peer_rank = channel.is_send ? channel.destination_rank : channel.source_rank};
      announced.peer = peer;
      if (communicators[i].size() == 1) announced.peer.communicator = communicators[i][0];
      if (communicators[i].size() > 1) announced.possible = unknown.InEach(i, peer);
      // Queue pairs without a known device are joined over all devices.
      Announce(Key(channel.is_send, channel.cuda_device, channel.net_device), announced);
      Announce(Key(channel.is_send, channel.cuda_device, kAny), announced);
    }
    AddProxied();
  }

  void AddProxied() {
    std::map<int, std::vector<PeerCandidate>> peers;  // by net device
    for (const ProxiedChannel& proxied : proxied_) {
      peers[proxied.net_device].push_back(proxied.peer);
    }
    std::map<int, std::vector<Group*>> groups;
    for (auto& [key, group] : groups_) {
      if (key.is_send && peers.contains(key.net_device)) groups[key.net_device].push_back(&group);
    }
    for (const auto& [net_device, of_device] : groups) {
      std::vector<PeerCandidate>& all = peers[net_device];
      if (of_device.size() > kMaxGpusOfDevice) {
        for (const Group* group : of_device) {
          const std::vector<PeerCandidate> own = PeersOf(group->announced);
          all.insert(all.end(), own.begin(), own.end());
        }
      }
      const Candidates shared = Distinct(std::move(all));
      for (Group* group : of_device) {
        group->proxied = shared;
        if (of_device.size() > kMaxGpusOfDevice) group->announced.clear();
      }
    }
  }

  void Announce(const GroupKey& key, const Announced& announced) {
    const auto group = groups_.find(key);
    if (group != groups_.end()) group->second.announced.push_back(announced);
  }

  // GIN lines state both ranks; only the communicator must be found, as for a channel.
  void ResolveStated(const std::vector<size_t>& indices) {
    std::vector<NcclChannel> channels;
    for (const size_t index : indices) {
      const NcclQueuePair& queue_pair = process_.queue_pairs[index];
      channels.push_back({.line = queue_pair.line,
                          .thread_id = queue_pair.thread_id,
                          .cuda_device = queue_pair.cuda_device,
                          .source_rank = queue_pair.own_rank,
                          .destination_rank = queue_pair.remote_rank,
                          .is_send = true});
    }
    const ChannelCommunicators communicators =
        CommunicatorsOfChannels(process_.communicators, channels);
    UnknownCommunicators unknown(communicators);
    for (size_t i = 0; i < indices.size(); ++i) {
      QueuePairPeer& peer = peers_[indices[i]];
      peer.is_sender = true;
      peer.may_be_loopback = channels[i].source_rank == channels[i].destination_rank;
      const PeerCandidate stated{.own_rank = channels[i].source_rank,
                                 .peer_rank = channels[i].destination_rank};
      if (communicators[i].size() > 1) {
        peer.if_one = PeerCertainty::kExact;
        peer.candidates = unknown.InEach(i, stated);
        continue;
      }
      peer.certainty = PeerCertainty::kExact;
      peer.peer = stated;
      if (!communicators[i].empty()) peer.peer.communicator = communicators[i][0];
    }
  }

  static Candidates Everyone(const Group& group) {
    if (group.proxied != nullptr && group.announced.empty()) return group.proxied;
    std::vector<PeerCandidate> peers = PeersOf(group.announced);
    if (group.proxied != nullptr) {
      peers.insert(peers.end(), group.proxied->begin(), group.proxied->end());
    }
    return Distinct(std::move(peers));
  }

  void Resolve(const GroupKey& key, const Group& group) {
    for (const size_t index : group.queue_pairs) peers_[index].is_sender = key.is_send;
    const Candidates all = Everyone(group);
    const bool others_are_unknown = key.is_send && serves_others_ && group.proxied == nullptr;
    only_ = all->size() == 1 && !others_are_unknown ? &all->front() : nullptr;
    everyone_ = others_are_unknown ? nullptr : all;
    if (group.proxied != nullptr || others_are_unknown) {
      SetAmbiguous(group.queue_pairs, all);
      return;
    }

    const std::vector<Round> rounds = Rounds(group, process_.queue_pairs);
    size_t size = 0;  // queue pairs per connection: NCCL_IB_QPS_PER_CONNECTION, equal for all
    for (const Round& round : rounds) {
      const size_t ratio = Ratio(round);
      if (ratio != 0 && (size == 0 || ratio < size)) size = ratio;
    }
    const auto fits = [&](const Round& round) { return size != 0 && Ratio(round) == size; };
    if (std::ranges::all_of(rounds, fits)) {
      for (const Round& round : rounds) SetOrdered(round, size);
      return;
    }
    // Rounds of several communicators may interleave and still be in order as a whole.
    Round pool;
    for (const Round& round : rounds) Append(round, pool);
    if (IsCausal(pool)) {
      SetOrdered(pool, Ratio(pool));
      return;
    }
    Round doubtful;
    for (const Round& round : rounds) {
      if (fits(round)) {
        SetOrdered(round, size);
      } else {
        Append(round, doubtful);
      }
    }
    std::vector<PeerCandidate> candidates = PeersOf(doubtful.announced);
    SetAmbiguous(doubtful.queue_pairs, candidates.empty() ? all : Distinct(std::move(candidates)));
  }

  bool IsCausal(const Round& pool) const {
    const size_t size = Ratio(pool);
    if (size == 0) return false;
    for (size_t i = 0; i < pool.queue_pairs.size(); ++i) {
      if (process_.queue_pairs[pool.queue_pairs[i]].line < pool.announced[i / size].line) {
        return false;
      }
    }
    return true;
  }

  void SetOrdered(const Round& round, size_t size) {
    for (size_t i = 0; i < round.queue_pairs.size(); ++i) {
      QueuePairPeer& peer = peers_[round.queue_pairs[i]];
      const Announced& announced = round.announced[i / size];
      peer.channel = announced.channel;
      peer.everyone = everyone_;
      if (announced.possible != nullptr) {
        peer.candidates = announced.possible;
        peer.if_one = PeerCertainty::kOrdered;
      } else {
        peer.peer = announced.peer;
        peer.certainty = only_ != nullptr ? PeerCertainty::kExact : PeerCertainty::kOrdered;
      }
      connection_size_[round.queue_pairs[i]] = size;
      position_[round.queue_pairs[i]] = i % size;
    }
  }

  void SetAmbiguous(const std::vector<size_t>& queue_pairs, const Candidates& candidates) {
    for (const size_t index : queue_pairs) {
      if (only_ != nullptr) {
        peers_[index].peer = *only_;
        peers_[index].certainty = PeerCertainty::kExact;
      } else {
        peers_[index].candidates = candidates;
        if (everyone_ != nullptr) peers_[index].if_one = PeerCertainty::kExact;
      }
    }
  }

  // The queue pairs of an accepted connection are followed by one per device that flushes the GPU's
  // writes. Senders have none, so their number shows how many are real.
  void MarkLoopbacks() {
    size_t real = 0;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (peers_[i].is_sender && connection_size_[i] != 0) real = connection_size_[i];
    }
    for (size_t i = 0; i < peers_.size(); ++i) {
      const NcclQueuePair& queue_pair = process_.queue_pairs[i];
      const bool was_created = !queue_pair.device_name.empty() && queue_pair.mtu == 0;
      if (peers_[i].is_sender || !was_created || has_flush_lines_) continue;
      if (queue_pair.role == NcclQueuePairRole::kFlush) continue;
      peers_[i].may_be_loopback = position_[i] >= std::max<size_t>(real, 1);
    }
  }

  const NcclProcess& process_;
  std::span<const ProxiedChannel> proxied_;
  std::vector<QueuePairPeer> peers_;
  std::vector<size_t> connection_size_;
  std::vector<size_t> position_;  // index in its connection
  std::map<GroupKey, Group> groups_;
  const PeerCandidate* only_ = nullptr;  // the group's only possible peer
  Candidates everyone_;                  // candidates of the group; null: the log may be incomplete
  bool has_several_gpus_ = false;
  bool devices_are_merged_ = false;
  bool serves_others_ = false;
  bool has_flush_lines_ = false;
};

}  // namespace

std::vector<QueuePairPeer> JoinQueuePairs(const NcclProcess& process,
                                          std::span<const ProxiedChannel> proxied) {
  return QueuePairJoin(process, proxied).Run();
}

}  // namespace rocescope

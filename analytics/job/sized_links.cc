// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/sized_links.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

class Linker {
 public:
  Linker(std::span<const LoggedProcess> processes, std::span<const SizedClass> classes,
         const JobEvidence& evidence)
      : processes_(processes), classes_(classes), evidence_(evidence) {
    for (size_t c = 0; c < classes.size(); ++c) {
      for (uint32_t m = 0; m < classes[c].members.size(); ++m) {
        const SizedMember& member = classes[c].members[m];
        place_of_[{member.process, member.communicator}] = {c, m};
        of_rank_[{c, member.rank}].push_back(m);
      }
    }
    FindAddresses();
  }

  std::vector<SizedLink> Run() {
    std::vector<SizedLink> links;
    for (size_t p = 0; p < processes_.size(); ++p) {
      const NcclProcess& process = *processes_[p].facts;
      for (const QueuePairPeer& peer : JoinQueuePairs(process)) {
        const NcclQueuePair& queue_pair = process.queue_pairs[peer.queue_pair];
        if (!queue_pair.address) continue;
        Found found;
        const auto met = std::ranges::equal_range(
            evidence_.meetings, std::pair(*queue_pair.address, queue_pair.local), {},
            [](const QueuePairMeeting& m) { return std::pair(m.address, m.qpn); });
        for (const QueuePairMeeting& meeting : met) {
          if (peer.certainty != PeerCertainty::kAmbiguous) {
            Find(p, peer.peer, meeting.peer, found);
          } else if (peer.candidates != nullptr) {
            for (const PeerCandidate& candidate : *peer.candidates) {
              Find(p, candidate, meeting.peer, found);
            }
          }
        }
        AddLink(found, links);
      }
      if (process.queue_pairs.empty() && !evidence_.ways.empty()) AddChannels(p, links);
    }
    return links;
  }

 private:
  using Found = std::set<std::tuple<size_t, uint32_t, uint32_t>>;  // class, member, peer

  static void AddLink(const Found& found, std::vector<SizedLink>& links) {
    if (found.empty()) return;
    const auto& [in, member, any] = *found.begin();
    SizedLink link = {.in = in, .member = member};
    for (const auto& [other_in, other_member, peer_place] : found) {
      if (other_in == in && other_member == member) link.peers.push_back(peer_place);
    }
    if (link.peers.size() == found.size()) links.push_back(std::move(link));
  }

  void AddChannels(size_t p, std::vector<SizedLink>& links) const {
    const NcclProcess& process = *processes_[p].facts;
    const auto communicators = CommunicatorsOfChannels(process.communicators, process.channels);
    for (size_t i = 0; i < process.channels.size(); ++i) {
      const NcclChannel& channel = process.channels[i];
      if (!channel.is_send || !channel.net.starts_with("IB")) continue;
      const auto at =
          of_device_.find({HostKey(process.host), DeviceOf(process, channel.net_device)});
      if (at == of_device_.end()) continue;
      Found found;
      for (const int communicator : communicators[i]) {
        FindReceivers(p, communicator, channel, at->second, found);
      }
      AddLink(found, links);
    }
  }

  void FindReceivers(size_t process, int communicator, const NcclChannel& channel,
                     const std::set<IpAddress>& senders, Found& found) const {
    const auto own = place_of_.find({process, static_cast<size_t>(communicator)});
    if (own == place_of_.end()) return;
    const auto [in, member] = own->second;
    const auto others = of_rank_.find({in, channel.destination_rank});
    if (others == of_rank_.end()) return;
    for (const uint32_t other : others->second) {
      const std::set<IpAddress>& receivers = addresses_[classes_[in].members[other].process];
      const bool is_met = std::ranges::any_of(senders, [&](const IpAddress& sender) {
        return std::ranges::any_of(receivers, [&](const IpAddress& receiver) {
          return std::ranges::binary_search(evidence_.ways, std::pair(sender, receiver));
        });
      });
      if (is_met) found.insert({in, member, other});
    }
  }

  void Find(size_t process, const PeerCandidate& peer, const IpAddress& address,
            Found& found) const {
    if (peer.communicator < 0) return;
    const auto own = place_of_.find({process, static_cast<size_t>(peer.communicator)});
    if (own == place_of_.end()) return;
    const auto [in, member] = own->second;
    // PXN: belongs to another process
    if (classes_[in].members[member].rank != peer.own_rank) return;
    const auto others = of_rank_.find({in, peer.peer_rank});
    if (others == of_rank_.end()) return;
    for (const uint32_t other : others->second) {
      if (addresses_[classes_[in].members[other].process].contains(address)) {
        found.insert({in, member, other});
      }
    }
  }

  static std::string DeviceOf(const NcclProcess& process, int index) {
    const auto device = std::ranges::find(process.devices, index, &NcclDevice::index);
    return index < 0 || device == process.devices.end() ? "" : device->name;
  }

  // Only the sender's line prints an address, but it applies to all processes of the host that use
  // the NIC.
  void FindAddresses() {
    for (const HostNic& nic : evidence_.nics) {
      of_device_[{HostKey(nic.host), nic.device}].insert(nic.addresses.begin(),
                                                         nic.addresses.end());
    }
    for (const LoggedProcess& process : processes_) {
      for (const NcclQueuePair& queue_pair : process.facts->queue_pairs) {
        const std::string device = queue_pair.device_name.empty()
                                       ? DeviceOf(*process.facts, queue_pair.ib_device)
                                       : queue_pair.device_name;
        if (!queue_pair.address || device.empty()) continue;
        of_device_[{HostKey(process.facts->host), device}].insert(*queue_pair.address);
      }
    }
    for (const LoggedProcess& process : processes_) {
      std::set<IpAddress>& own = addresses_.emplace_back();
      std::set<int> used;
      for (const NcclChannel& channel : process.facts->channels) used.insert(channel.net_device);
      for (const int device : used) {
        const auto at =
            of_device_.find({HostKey(process.facts->host), DeviceOf(*process.facts, device)});
        if (at != of_device_.end()) own.insert(at->second.begin(), at->second.end());
      }
      for (const NcclQueuePair& queue_pair : process.facts->queue_pairs) {
        if (queue_pair.address) own.insert(*queue_pair.address);
      }
    }
  }

  std::span<const LoggedProcess> processes_;
  std::span<const SizedClass> classes_;
  const JobEvidence& evidence_;
  std::map<std::pair<size_t, size_t>, std::pair<size_t, uint32_t>> place_of_;
  std::map<std::pair<size_t, int>, std::vector<uint32_t>> of_rank_;  // indexed by class and rank
  // Addresses by host and device.
  std::map<std::pair<std::string, std::string>, std::set<IpAddress>> of_device_;
  std::vector<std::set<IpAddress>> addresses_;  // indexed by process
};

}  // namespace

std::vector<SizedLink> LinksOf(std::span<const LoggedProcess> processes,
                               std::span<const SizedClass> classes, const JobEvidence& evidence) {
  if (evidence.meetings.empty() && evidence.ways.empty()) return {};
  return Linker(processes, classes, evidence).Run();
}

}  // namespace rocescope

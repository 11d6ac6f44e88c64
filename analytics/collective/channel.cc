// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/channel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

const FlowActivity* Find(std::span<const FlowActivity> flows, const FlowKey& key) {
  const auto at = std::ranges::lower_bound(flows, key, {}, &FlowActivity::flow);
  return at == flows.end() || at->flow != key ? nullptr : &*at;
}

struct Sums {
  uint64_t data_messages = 0;
  uint64_t grants = 0;
  MessageLengths lengths;
};

// A message shorter than the longest one is the end of a transfer, because the library splits long
// transfers into pieces of equal size.
void CountMessages(const Sums& sums, Channel& channel) {
  const auto messages = static_cast<double>(sums.data_messages);
  double parts = 1;  // number of queue pairs over which a message is split
  if (sums.grants > 0) {
    parts = std::max(1.0, std::round(messages / static_cast<double>(sums.grants)));
  }
  channel.messages = messages / parts;
  uint32_t longest = 0;
  uint64_t all = sums.lengths.others;
  uint64_t short_ones = sums.lengths.others;
  for (const MessageLengths::One& one : sums.lengths.most) {
    if (one.count > 0) longest = std::max(longest, one.length);
  }
  for (const MessageLengths::One& one : sums.lengths.most) {
    all += one.count;
    if (one.length < longest) short_ones += one.count;
  }
  channel.transfers = short_ones == 0 ? channel.messages
                                      : channel.messages * static_cast<double>(short_ones) /
                                            static_cast<double>(all);
}

class Builder {
 public:
  Builder(const ConnectionList& connections, const FlowSummaries& flows,
          std::span<const FlowActivity> active, const HostFacts& facts)
      : connections_(connections), flows_(flows), active_(active) {
    for (const HostNic& nic : facts.nics) {
      for (const IpAddress& address : nic.addresses) hosts_.emplace(address, nic);
    }
    for (const Job& job : facts.jobs) {
      for (const JobRank& rank : job.ranks) {
        for (const IpAddress& address : rank.addresses) {
          hosts_.emplace(address, HostNic{.host = rank.host, .device = "", .addresses = {}});
        }
      }
    }
  }

  Channels Build() {
    for (uint32_t i = 0; i < connections_.size(); ++i) {
      for (size_t to = 0; to < 2; ++to) AddWay(i, to);
    }
    std::set<std::pair<uint32_t, uint32_t>> granted;
    for (size_t i = 0; i < result_.all.size(); ++i) {
      CountMessages(sums_[i], result_.all[i]);
      if (sums_[i].grants > 0) granted.emplace(result_.all[i].source, result_.all[i].destination);
    }
    for (size_t i = 0; i < result_.all.size(); ++i) {
      Channel& channel = result_.all[i];
      if (sums_[i].grants > 0) {
        channel.grants_seen = Grants::kOwn;
      } else if (granted.contains({channel.source, channel.destination})) {
        channel.grants_seen = Grants::kBetweenNics;
      }
    }
    return std::move(result_);
  }

 private:
  using Key = std::tuple<Segment, IpAddress, IpAddress, uint32_t, uint32_t>;

  void AddWay(uint32_t i, size_t to) {
    const Connection& connection = connections_[i];
    if (!connection.endpoints[to].qpn) return;
    const FlowCounts* const forward = CarriedFrom(1 - to, connection, flows_);
    if (forward == nullptr || forward->DataBytes() == 0) return;
    const FlowActivity* const active = ActiveTo(connection, to);
    if (active == nullptr) return;
    const ConnectionEndpoint& from = connection.endpoints[1 - to];
    const uint32_t single = connection.stripe_group == 0 ? i : 0;
    const Key key{connection.endpoints[to].segment, from.address, connection.endpoints[to].address,
                  connection.stripe_group, single};
    const auto [at, fresh] = places_.try_emplace(key, result_.all.size());
    if (fresh) {
      result_.all.emplace_back();
      result_.all.back().source = NicOf(from);
      result_.all.back().destination = NicOf(connection.endpoints[to]);
      sums_.emplace_back();
    }
    Channel& channel = result_.all[at->second];
    Sums& sums = sums_[at->second];
    channel.connections.push_back(i);
    channel.data |= active->active;
    channel.bytes += forward->DataBytes();
    channel.first = std::min(channel.first, forward->first_seen);
    channel.last = std::max(channel.last, forward->last_seen);
    sums.data_messages += forward->messages - forward->control_messages;
    for (const MessageLengths::One& one : active->lengths.most) {
      if (one.count > 0) sums.lengths.Add(one.length, one.count);
    }
    sums.lengths.others += active->lengths.others;
    if (!from.qpn) return;
    const FlowCounts* const backward = CarriedFrom(to, connection, flows_);
    if (backward == nullptr) return;
    sums.grants += backward->control_messages;
    const FlowActivity* const granted = ActiveTo(connection, 1 - to);
    if (granted != nullptr && backward->DataBytes() == 0) channel.grants |= granted->active;
  }

  const FlowActivity* ActiveTo(const Connection& connection, size_t to) const {
    return Find(active_, {.source = connection.endpoints[1 - to].address,
                          .destination = connection.endpoints[to].address,
                          .destination_qpn = *connection.endpoints[to].qpn,
                          .segment = connection.endpoints[to].segment});
  }

  // Hosts do not know their segment, so a name identifies a host across segments.
  uint32_t NicOf(const ConnectionEndpoint& end) {
    const auto [at, fresh] =
        nics_.try_emplace({end.segment, end.address}, static_cast<uint32_t>(nics_.size()));
    if (!fresh) return at->second;
    CollectiveMember& nic = result_.nics.emplace_back();
    nic.segment = end.segment;
    nic.address = end.address;
    nic.host = ToString(end.address);
    Segment segment = end.segment;
    if (const auto host = hosts_.find(end.address); host != hosts_.end()) {
      nic.host = host->second.host;
      nic.device = host->second.device;
      segment = 0;
    }
    result_.host_of.push_back(
        numbers_.try_emplace({segment, nic.host}, static_cast<uint32_t>(numbers_.size()))
            .first->second);
    result_.hosts = static_cast<uint32_t>(numbers_.size());
    return at->second;
  }

  const ConnectionList& connections_;
  const FlowSummaries& flows_;
  std::span<const FlowActivity> active_;
  std::map<IpAddress, HostNic> hosts_;
  // Numbers of hosts; 0: hosts with a name.
  std::map<std::pair<Segment, std::string>, uint32_t> numbers_;
  std::map<std::pair<Segment, IpAddress>, uint32_t> nics_;
  std::map<Key, size_t> places_;
  std::vector<Sums> sums_;  // parallel to the channels
  Channels result_;
};

}  // namespace

Channels ChannelsOf(const ConnectionList& connections, const FlowSummaries& flows,
                    std::span<const FlowActivity> active, const HostFacts& facts) {
  return Builder(connections, flows, active, facts).Build();
}

}  // namespace rocescope

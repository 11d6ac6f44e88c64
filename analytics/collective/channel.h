// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: data sent in one direction between two NICs over the queue pairs of a
// stripe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analytics/collective/activity.h"
#include "analytics/collective/collective.h"
#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// Whether the receiver grants buffers to the channel by clear-to-sends. One queue pair of a stripe
// can carry the clear-to-sends of all. If the stripe is not recognised, the other queue pairs are
// therefore channels for which clear-to-sends are only observed between the same NICs
// (kBetweenNics).
enum class Grants : uint8_t { kNone, kBetweenNics, kOwn };

struct Channel {
  uint32_t source = 0;  // index into Channels::nics
  uint32_t destination = 0;
  std::vector<uint32_t> connections;  // ascending
  Bits data;
  Bits grants;  // requests in the opposite direction: clear-to-sends
  uint64_t bytes = 0;
  // Messages that the sender posted, regardless of how many queue pairs carry each.
  double messages = 0;
  double transfers = 0;  // messages that end a transfer
  Grants grants_seen = Grants::kNone;
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
};

struct Channels {
  std::vector<Channel> all;  // channels that carried data
  std::vector<CollectiveMember> nics;
  std::vector<uint32_t> host_of;  // indexed by NIC: host number in order of first appearance
  uint32_t hosts = 0;
};

// `active` is sorted by key, as returned by ActivityTracker.
Channels ChannelsOf(const ConnectionList& connections, const FlowSummaries& flows,
                    std::span<const FlowActivity> active, const HostFacts& facts);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: data that goes one way between two NICs over the queue pairs of a
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

// Whether the receiver grants buffers. All grants of a stripe may go over one of its queue pairs:
// if nothing showed that they are a stripe, the others are only known to be between the same NICs.
enum class Grants : uint8_t { kNone, kBetweenNics, kOwn };

struct Channel {
  uint32_t source = 0;  // index into Channels::nics
  uint32_t destination = 0;
  std::vector<uint32_t> connections;  // ascending
  Bits data;
  Bits grants;  // requests the other way: clear-to-sends
  uint64_t bytes = 0;
  double messages = 0;   // as the sender counts, however many queue pairs a message is split over
  double transfers = 0;  // of these, those that end one
  Grants grants_seen = Grants::kNone;
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
};

struct Channels {
  std::vector<Channel> all;  // that carried data
  std::vector<CollectiveMember> nics;
  std::vector<uint32_t> host_of;  // by NIC: numbered as met
  uint32_t hosts = 0;
};

// `active` by key, as ActivityTracker gives it.
Channels ChannelsOf(const ConnectionList& connections, const FlowSummaries& flows,
                    std::span<const FlowActivity> active, const HostFacts& facts);

}  // namespace rocescope

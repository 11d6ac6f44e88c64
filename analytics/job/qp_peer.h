// SPDX-License-Identifier: BSD-3-Clause
// Determines the peer rank of each queue pair from one process's log.
//
// A channel line contains two ranks but no QPN; a queue pair line contains a QPN but no rank. NCCL
// first prints the channels of a round of connections and then their queue pairs, in the same order
// unless sockets overtake each other. The two are therefore joined by device and order. If the
// counts differ, every possible rank is a candidate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/host/nccl_log.h"

namespace rocescope {

enum class PeerCertainty : uint8_t {
  kExact,      // stated, or no other rank is possible
  kOrdered,    // derived from the order; the counts match
  kAmbiguous,  // one of the candidates
};

// A connection in the numbering of one communicator.
struct PeerCandidate {
  int communicator = -1;  // index into NcclProcess::communicators; -1: unknown
  int own_rank = -1;  // the rank that the queue pair serves; with PXN, not the process's own rank
  int peer_rank = -1;

  friend constexpr auto operator<=>(const PeerCandidate&, const PeerCandidate&) = default;
};

struct QueuePairPeer {
  size_t queue_pair = 0;   // index into NcclProcess::queue_pairs
  PeerCandidate peer;      // all -1 if ambiguous
  int channel = -1;        // -1: unknown, or none
  bool is_sender = false;  // data flows to the peer
  PeerCertainty certainty = PeerCertainty::kAmbiguous;
  std::optional<Qpn> remote;  // the peer's QPN, if the log states the pair with certainty
  // NCCL 2.29 also prints `QP created` for loopback queue pairs, which never appear on the wire.
  bool may_be_loopback = false;
  // If ambiguous: ascending, possibly empty; shared between the queue pairs of a round.
  std::shared_ptr<const std::vector<PeerCandidate>> candidates;
  // The certainty if all candidates turn out to be one rank, because several communicators have the
  // same ranks in the same order.
  PeerCertainty if_one = PeerCertainty::kAmbiguous;
  // The peer, and all ranks that it could be if the connections were made in a different order.
  // Null if the log may not contain all of these ranks.
  std::shared_ptr<const std::vector<PeerCandidate>> everyone;
};

// A connection for sending that this process made for another process of the host (PXN).
struct ProxiedChannel {
  int net_device = -1;
  PeerCandidate peer;  // with the index into this process's communicators

  friend constexpr auto operator<=>(const ProxiedChannel&, const ProxiedChannel&) = default;
};

// The possible communicators of channels as ascending indices. Many channels have the same ones,
// which are stored once: a process can have many communicators, and a log many channels.
struct ChannelCommunicators {
  std::vector<std::vector<int>> lists;  // all different
  std::vector<uint32_t> list_of;        // index into `lists`, by channel

  const std::vector<int>& operator[](size_t channel) const { return lists[list_of[channel]]; }
};

// Channel lines do not contain the communicator: it is the one that the same thread was
// initialising, otherwise any with a matching size and rank.
ChannelCommunicators CommunicatorsOfChannels(std::span<const NcclCommunicator> communicators,
                                             std::span<const NcclChannel> channels);

// Returns one element per queue pair of the process, in order.
std::vector<QueuePairPeer> JoinQueuePairs(const NcclProcess& process,
                                          std::span<const ProxiedChannel> proxied = {});

// Returns the remote QPNs that set_ece lines assign to the process's queue pairs, by index, where
// the order is unambiguous. `connection_size` contains for each queue pair the number of queue
// pairs of its connection, 0 if unknown.
std::vector<std::optional<Qpn>> RemoteQpnsFromEce(const NcclProcess& process,
                                                  std::span<const size_t> connection_size);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Which rank sits at the other end of each queue pair, as far as one process's log tells.
//
// A channel line names two ranks and no QPN, a queue pair line a QPN and no rank. NCCL prints the
// channels of a round of connections first and their queue pairs after, in the same order unless
// sockets overtook each other, so the two are joined by device and order. Where the counts do not
// fit, every rank that could be meant is a candidate.
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
  kOrdered,    // by order; the counts fit
  kAmbiguous,  // one of the candidates
};

// One connection in the numbering of one communicator.
struct PeerCandidate {
  int communicator = -1;  // index into NcclProcess::communicators; -1: unknown
  int own_rank = -1;      // that the queue pair serves: with PXN another than the process's
  int peer_rank = -1;

  friend constexpr auto operator<=>(const PeerCandidate&, const PeerCandidate&) = default;
};

struct QueuePairPeer {
  size_t queue_pair = 0;   // index into NcclProcess::queue_pairs
  PeerCandidate peer;      // all -1 when ambiguous
  int channel = -1;        // -1: unknown, or none
  bool is_sender = false;  // data flows to the peer
  PeerCertainty certainty = PeerCertainty::kAmbiguous;
  std::optional<Qpn> remote;  // the peer's QPN where the log pairs them for certain
  // NCCL 2.29 also prints `QP created` for loopback queue pairs, which never show on the wire.
  bool may_be_loopback = false;
  // When ambiguous, ascending, possibly empty; shared between the queue pairs of a round.
  std::shared_ptr<const std::vector<PeerCandidate>> candidates;
  // What the certainty becomes if all candidates turn out to be one rank, as they do where several
  // communicators have the same ranks in the same order.
  PeerCertainty if_one = PeerCertainty::kAmbiguous;
  // Everybody whom the order could confuse with the peer, and the peer; null if the log may not
  // show them all.
  std::shared_ptr<const std::vector<PeerCandidate>> everyone;
};

// A connection that another process of the host asked this one to make for it (PXN).
struct ProxiedChannel {
  NcclChannel channel;
  int communicator = -1;  // index into this process's communicators
};

// The communicators that each channel of a process may belong to, as indices, ascending. Channel
// lines do not name it: it is the one that the same thread was initialising, else any whose size
// and rank fit.
std::vector<std::vector<int>> CommunicatorsOfChannels(
    std::span<const NcclCommunicator> communicators, std::span<const NcclChannel> channels);

// One element per queue pair of the process, in their order.
std::vector<QueuePairPeer> JoinQueuePairs(const NcclProcess& process,
                                          std::span<const ProxiedChannel> proxied = {});

// The QPNs that set_ece lines pair with the process's queue pairs, by index; only where the order
// leaves no doubt. `connection_size` holds for each queue pair how many make up its connection, 0
// if unknown.
std::vector<std::optional<Qpn>> RemoteQpnsFromEce(const NcclProcess& process,
                                                  std::span<const size_t> connection_size);

}  // namespace rocescope

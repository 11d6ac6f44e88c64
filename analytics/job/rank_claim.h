// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace rocescope {

// Evidence by which an end of a connection was attributed to a rank.
enum class RankSource : uint8_t {
  kNcclLog,       // the rank's own log contains the queue pair
  kRdmaResource,  // the host's rdma dump contains the queue pair, and a log contains the process
  kPeer,          // the peer's log states the destination rank
  kReceiver,      // the receiver's log states the source rank, and the addresses leave one pair
  kWire,          // inferred: synchronised with the job's other connections
  // No log contains a queue pair of the rank: derived from the NICs of the channels in the logs.
  kChannel,
  kScheduler,  // rank unknown: both ends are at nodes allocated to the job
};

struct RankClaim {
  uint32_t job = 0;  // index into Attribution::jobs
  int rank = -1;     // -1: not in the job's largest communicator, or unknown
  int member = -1;   // index into Job::ranks; -1: no log, or unknown
  RankSource source = RankSource::kNcclLog;
  double confidence = 0;

  // False: the job is known, but not which of its ranks.
  bool IsRankKnown() const { return rank >= 0 || member >= 0; }

  // Ranks without a number are identified by their logs.
  bool IsSameRank(const RankClaim& other) const {
    return job == other.job && rank == other.rank && (rank >= 0 || member == other.member);
  }
};

// Confidence of each kind of statement. Only the order of the numbers matters: kernel and log of
// the host itself first, then the log of its peer, then matches by elimination. kPeerByAddress,
// kPeerUnplaced and kReceived were never wrong in 252 answers of simulated runs.
inline constexpr double kOwnLog = 0.99;
inline constexpr double kOwnKernel = 0.995;  // the kernel's list does not depend on an order
inline constexpr double kPeerExact = 0.99;
inline constexpr double kPeerOrdered = 0.98;    // the address is one of that rank's
inline constexpr double kPeerByAddress = 0.97;  // the only candidate that can have the address
inline constexpr double kPeerUnplaced = 0.96;   // no log contains the rank's addresses
// Derived from addresses and direction; no log contains the number.
inline constexpr double kReceived = 0.96;
// The logs contain channels but no queue pairs, and all channels that can be between the addresses
// have this rank at the end. By what places the rank: the address of its NIC, or its host alone.
inline constexpr double kChannelNic = 0.97;
// Acknowledgements between NICs of which all traffic belongs to one pair of ranks.
inline constexpr double kChannelAcknowledged = 0.95;
inline constexpr double kChannelHost = 0.93;
inline constexpr double kChannelPeer = 0.9;  // nothing: the rank has no log; the peer is placed
// Packets are sampled: clear-to-sends were seen between the NICs, but not on which connection.
inline constexpr double kChannelSampled = 0.85;
// No clear-to-sends were seen: the data can be of another program. Only the job is claimed.
inline constexpr double kChannelNoGrants = 0.6;
// Several jobs used the NICs one after the other, and each sent data in one of several periods.
inline constexpr double kChannelPeriod = 0.92;
// There are fewer periods than jobs, and the last period is assumed to be that of the last job.
inline constexpr double kChannelLastPeriod = 0.7;

}  // namespace rocescope

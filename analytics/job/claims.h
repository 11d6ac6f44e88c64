// SPDX-License-Identifier: BSD-3-Clause
// Attributes the ends of connections to ranks according to what hosts report about their own queue
// pairs.
//
// A host knows neither the segment in which the fabric carries its packets nor the time: the same
// address and number may occur in several segments (tenants, or encapsulated copies of a mirror)
// and for successive owners. A statement refers to exactly one of these. If nothing identifies it,
// the statement is not used and a note is added.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"
#include "analytics/job/job_index.h"
#include "analytics/job/rank_claim.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

struct Claim {
  RankClaim rank;  // the rank that the queue pair serves; with PXN, not the rank of its process
  const JobRank* owner = nullptr;        // the rank whose process holds the queue pair
  const JobQueuePair* stated = nullptr;  // what the rank's log states about the peer
};

class Claims {
 public:
  // Keeps references to all arguments.
  Claims(const HostFacts& facts, const HostIndex& hosts, const JobIndex& index,
         const ConnectionList& connections, const FlowSummaries& flows);

  // Null: no source states the rank of this end, or sources contradict each other.
  const Claim* At(size_t connection, size_t end) const;

  // Whether any source states the owner or the peer of this end, however uncertain.
  bool IsNamed(size_t connection, size_t end) const;

  // A process that its host's kernel reports as the owner and that no log contains.
  struct Holder {
    std::string_view host;
    uint64_t process_id = 0;
    std::string_view command;

    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  // Null: no process, or several hosts or processes claim the queue pair.
  const Holder* HolderOf(size_t connection, size_t end) const;

  // Keyed by job: statements not used because several connections match.
  std::vector<std::vector<std::string>> Notes() const;

 private:
  struct End {
    IpAddress address;
    Qpn qpn;
    uint32_t connection = 0;
    uint8_t end = 0;

    friend auto operator<=>(const End&, const End&) = default;
  };
  struct Doubt {
    uint64_t count = 0;
    std::string example;
  };
  enum class DoubtKind : uint8_t { kSegment, kIncarnation, kAddress };

  void ClaimFromLogs();
  void ClaimFromRdma();
  // `is_guess`: the queue pair may be at any of the ends' addresses.
  void Take(std::vector<End> ends, bool is_guess, std::optional<Qpn> remote, const Claim& claim);
  void Settle();
  std::vector<End> Find(const std::vector<IpAddress>& addresses, Qpn qpn) const;
  bool IsAtPeer(const End& end, const Claim& claim) const;
  bool UsesKey(const End& end, const JobQueuePair& stated) const;
  void AddDoubt(const std::vector<End>& ends, const Claim& claim);

  const HostFacts& facts_;
  const HostIndex& hosts_;
  const JobIndex& index_;
  const ConnectionList& connections_;
  const FlowSummaries& flows_;
  std::vector<End> ends_;  // ascending
  std::map<std::pair<uint32_t, uint8_t>, std::vector<Claim>> claims_;
  std::set<std::pair<uint32_t, uint8_t>> named_;
  // The first two of each end.
  std::map<std::pair<uint32_t, uint8_t>, std::vector<Holder>> holders_;
  std::map<std::pair<uint32_t, DoubtKind>, Doubt> doubts_;  // indexed by job
};

}  // namespace rocescope

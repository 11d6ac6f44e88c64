// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/known_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "analytics/job/dump_host.h"
#include "analytics/job/job_index.h"

namespace rocescope {
namespace {

// Hosts use the same queue pair numbers, so a pair of numbers may occur in many dumps. Beyond this
// number of combinations it identifies nothing; the limit also avoids quadratic work.
constexpr size_t kMaxCombinations = 4096;
// A NIC port uses at most one IPv4 and one IPv6 address; with more combinations the NIC is unknown.
constexpr size_t kMaxAddressPairs = 4;
// Addresses that a queue pair may have. With more, its port or its GID is unknown.
constexpr size_t kMaxAddressesOfQueuePair = 8;

// Returns false if the location of both ends is not known well enough.
bool AddPair(const std::vector<IpAddress>& at_a, Qpn a, const std::vector<IpAddress>& at_b, Qpn b,
             KnownPairSource source, std::vector<KnownPair>& pairs) {
  if (at_a.empty() || at_b.empty() || at_a.size() * at_b.size() > kMaxAddressPairs) return false;
  for (const IpAddress& address_a : at_a) {
    for (const IpAddress& address_b : at_b) {
      if (address_a.IsV4() != address_b.IsV4()) continue;
      pairs.push_back({.a = {.address = address_a, .qpn = a},
                       .b = {.address = address_b, .qpn = b},
                       .source = source,
                       .valid_from = std::nullopt});
    }
  }
  return true;
}

class Dumps {
 public:
  explicit Dumps(const HostFacts& facts) : facts_(facts), index_(facts.jobs, facts.nics) {
    for (uint32_t d = 0; d < facts.rdma.size(); ++d) {
      hosts_.emplace_back(facts.rdma[d], index_);
      uses_.emplace_back();
      for (const RdmaQueuePair& qp : facts.rdma[d].queue_pairs) Add(d, qp);
    }
    std::ranges::sort(ends_, {}, [](const End& e) {
      return std::tuple(e.local, e.remote, e.dump, e.queue_pair->line);
    });
  }

  std::vector<KnownPair> Pairs() {
    std::vector<KnownPair> pairs;
    for (auto first = ends_.begin(); first != ends_.end();) {
      const auto group = std::ranges::equal_range(first, ends_.end(), Numbers(*first), {}, Numbers);
      const std::pair back(first->remote, first->local);
      if (Numbers(*first) <= back) {
        const auto others = std::ranges::equal_range(ends_, back, {}, Numbers);
        AddGroup({group.begin(), group.end()}, {others.begin(), others.end()}, pairs);
      }
      first = group.end();
    }
    return pairs;
  }

  std::vector<KnownQueuePair> QueuePairs() const {
    std::vector<KnownQueuePair> all;
    for (const End& end : ends_) {
      const std::vector<IpAddress> addresses = hosts_[end.dump].AddressesOf(*end.queue_pair);
      if (addresses.size() > kMaxAddressesOfQueuePair) continue;
      for (const IpAddress& address : addresses) {
        all.push_back({.address = address, .local = end.local, .remote = end.remote});
      }
    }
    return all;
  }

  std::vector<std::string> Notes() {
    Pairs();
    std::vector<std::string> notes;
    for (size_t d = 0; d < uses_.size(); ++d) {
      const std::string& host = facts_.rdma[d].host;
      const Use& use = uses_[d];
      if (use.unplaced != 0) {
        std::string devices;
        for (const std::string& device : use.unplaced_devices) devices += " " + device;
        notes.push_back(fmt::format(
            "rdma dump {}: {} queue pairs are not used, because no NCCL log contains the address "
            "of:{}",
            host, use.unplaced, devices));
      }
      if (use.placed != 0 && use.pairs == 0 && !use.has_ranks) {
        notes.push_back(
            fmt::format("rdma dump {}: not used, because no other dump lists the matching remote "
                        "queue pairs and no NCCL log contains its processes",
                        host));
      }
      if (facts_.rdma[d].queue_pairs.empty()) {
        notes.push_back(fmt::format("rdma dump {}: contains no queue pairs", host));
      }
    }
    if (too_many_ != 0) {
      notes.push_back(
          fmt::format("rdma dumps: {} pairs of queue pair numbers occur in so many dumps that they "
                      "do not identify the hosts of a connection",
                      too_many_));
    }
    return notes;
  }

 private:
  struct End {
    Qpn local;
    Qpn remote;
    uint32_t dump = 0;
    const RdmaQueuePair* queue_pair = nullptr;
  };
  struct Use {
    uint64_t placed = 0;
    uint64_t unplaced = 0;  // no address is known
    std::set<std::string> unplaced_devices;
    uint64_t pairs = 0;
    bool has_ranks = false;
  };

  static std::pair<Qpn, Qpn> Numbers(const End& end) { return {end.local, end.remote}; }

  void Add(uint32_t dump, const RdmaQueuePair& qp) {
    const bool is_connected = qp.type == "RC" && qp.remote;
    if (!is_connected && !qp.process_id) return;  // the kernel's own queue pair
    Use& use = uses_[dump];
    if (hosts_[dump].AddressesOf(qp).empty()) {
      ++use.unplaced;
      use.unplaced_devices.insert(qp.device);
      return;
    }
    ++use.placed;
    if (!use.has_ranks && qp.process_id) {
      use.has_ranks = !hosts_[dump].RanksOf(*qp.process_id).empty();
    }
    if (is_connected) {
      ends_.push_back({.local = qp.local, .remote = *qp.remote, .dump = dump, .queue_pair = &qp});
    }
  }

  void AddGroup(std::span<const End> group, std::span<const End> others,
                std::vector<KnownPair>& pairs) {
    if (group.size() * others.size() > kMaxCombinations) {
      ++too_many_;
      return;
    }
    const bool is_symmetric = group[0].local == group[0].remote;
    for (const End& a : group) {
      for (const End& b : others) {
        if (a.dump == b.dump || (is_symmetric && b.dump < a.dump)) continue;
        const bool is_added = AddPair(hosts_[a.dump].AddressesOf(*a.queue_pair), a.local,
                                      hosts_[b.dump].AddressesOf(*b.queue_pair), b.local,
                                      KnownPairSource::kRdmaResource, pairs);
        uses_[a.dump].pairs += is_added;
        uses_[b.dump].pairs += is_added;
      }
    }
  }

  const HostFacts& facts_;
  HostIndex index_;
  std::vector<DumpHost> hosts_;  // indexed by dump
  std::vector<Use> uses_;        // indexed by dump
  std::vector<End> ends_;
  uint64_t too_many_ = 0;
};

void AddLoggedPairs(const HostFacts& facts, std::vector<KnownPair>& pairs) {
  const HostIndex hosts(facts.jobs, facts.nics);
  const JobIndex index(facts.jobs, hosts);
  for (uint32_t j = 0; j < facts.jobs.size(); ++j) {
    for (const JobRank& rank : facts.jobs[j].ranks) {
      for (const JobQueuePair& qp : rank.queue_pairs) {
        if (!qp.remote || qp.role == NcclQueuePairRole::kFlush) continue;
        const RankName peer =
            index.Complete(j, {.rank = qp.peer.peer_rank, .member = qp.peer.peer_member});
        if (peer.member < 0) continue;
        AddPair(hosts.PossibleAddresses(rank, qp), qp.local,
                hosts.PossibleAddresses(facts.jobs[j].ranks[static_cast<size_t>(peer.member)]),
                *qp.remote, KnownPairSource::kNcclLog, pairs);
      }
    }
  }
}

}  // namespace

std::vector<KnownPair> KnownPairsOf(const HostFacts& facts) {
  std::vector<KnownPair> pairs = Dumps(facts).Pairs();
  AddLoggedPairs(facts, pairs);
  return pairs;
}

std::vector<KnownQueuePair> KnownQueuePairsOf(const HostFacts& facts) {
  return Dumps(facts).QueuePairs();
}

std::vector<std::string> NotesOnDumps(const HostFacts& facts) { return Dumps(facts).Notes(); }

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Builds host facts and observed connections for tests. Test code only.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytics/job/attribution.h"

namespace rocescope::test {

using Claims = std::vector<std::array<int, 2>>;  // ranks of both ends, by connection; -1: none

inline IpAddress Address(int host) { return *ParseIpAddress("10.0.0." + std::to_string(host)); }

// By default rank n runs on host "node<n>" at 10.0.0.<n> as process 100 + n.
inline JobRank Rank(int rank) {
  JobRank result;
  result.rank = rank;
  result.host = "node" + std::to_string(rank);
  result.process_id = 100 + static_cast<uint64_t>(rank);
  result.addresses = {Address(rank)};
  result.addresses_complete = true;
  return result;
}

inline JobQueuePair Sender(uint32_t qpn, int own_rank, int peer_rank,
                           PeerCertainty certainty = PeerCertainty::kExact) {
  JobQueuePair result;
  result.local = Qpn{qpn};
  result.address = Address(own_rank);
  result.role = NcclQueuePairRole::kSend;
  result.peer = {.own_rank = own_rank, .peer_rank = peer_rank};
  result.certainty = certainty;
  result.is_sender = true;
  return result;
}

// A sender whose peer can be derived only from the order in which the rank connected to `peers`.
inline JobQueuePair OrderedSender(uint32_t qpn, int own_rank, int peer_rank,
                                  const std::vector<int>& peers) {
  JobQueuePair result = Sender(qpn, own_rank, peer_rank, PeerCertainty::kOrdered);
  std::vector<JobPeer> candidates;
  for (const int peer : peers) candidates.push_back({.own_rank = own_rank, .peer_rank = peer});
  result.candidates = std::make_shared<const std::vector<JobPeer>>(std::move(candidates));
  return result;
}

inline JobQueuePair AmbiguousSender(uint32_t qpn, int own_rank, const std::vector<int>& peers) {
  JobQueuePair result = Sender(qpn, own_rank, -1, PeerCertainty::kAmbiguous);
  std::vector<JobPeer> candidates;
  for (const int peer : peers) candidates.push_back({.own_rank = own_rank, .peer_rank = peer});
  result.candidates = std::make_shared<const std::vector<JobPeer>>(std::move(candidates));
  return result;
}

// Host facts, connections and traffic of a test.
class Facts {
 public:
  Facts& Log(JobRank rank) {
    if (facts_.jobs.empty()) facts_.jobs.push_back({.id = "job", .rank_count = 8});
    facts_.jobs.back().ranks.push_back(std::move(rank));
    return *this;
  }
  Facts& Jobs(std::vector<Job> jobs) {
    facts_.jobs = std::move(jobs);
    return *this;
  }
  Facts& OtherJob() {
    facts_.jobs.push_back({.id = "other", .rank_count = 8});
    return *this;
  }
  // Adds a NIC to the topology, with the address that Paired gives to this host number.
  Facts& Nic(std::string host, std::string device, int number) {
    facts_.nics.push_back(
        {.host = std::move(host), .device = std::move(device), .addresses = {Address(number)}});
    return *this;
  }
  // Adds a GPU whose nearest NIC is `device`.
  Facts& Gpu(std::string host, uint32_t number, std::string pci, std::string device) {
    facts_.gpus.push_back({.host = std::move(host),
                           .number = number,
                           .pci = std::move(pci),
                           .device = std::move(device)});
    return *this;
  }
  Facts& Allocated(uint64_t id, std::vector<AllocatedNode> nodes) {
    facts_.allocations.push_back(
        {.id = id, .name = "job" + std::to_string(id), .nodes = std::move(nodes)});
    return *this;
  }
  // Sets the start of the last allocation in seconds.
  Facts& From(int64_t start) {
    facts_.allocations.back().start = FromNanoseconds(start * 1'000'000'000);
    return *this;
  }
  Facts& EndedAt(int64_t end) {
    facts_.allocations.back().state = AllocationState::kEnded;
    facts_.allocations.back().end = FromNanoseconds(end * 1'000'000'000);
    return *this;
  }
  // Sets the times of the last connection in seconds.
  Facts& SeenFrom(int64_t first, int64_t last) {
    connections_.back().valid_from = FromNanoseconds(first * 1'000'000'000);
    connections_.back().last_seen = FromNanoseconds(last * 1'000'000'000);
    return *this;
  }
  Facts& Dump(std::string host, std::vector<RdmaQueuePair> queue_pairs) {
    facts_.rdma.push_back({.host = std::move(host), .queue_pairs = std::move(queue_pairs)});
    return *this;
  }
  Facts& Paired(int host_a, uint32_t qpn_a, int host_b, uint32_t qpn_b, double confidence = 1) {
    connections_.push_back(
        {.endpoints = {ConnectionEndpoint{.address = Address(host_a), .qpn = Qpn{qpn_a}},
                       ConnectionEndpoint{.address = Address(host_b), .qpn = Qpn{qpn_b}}},
         .state = ConnectionState::kPaired,
         .confidence = confidence});
    return *this;
  }
  // Closes the last connection.
  Facts& ClosedAt(Timestamp time) {
    connections_.back().valid_until = time;
    return *this;
  }
  // Adds an incarnation to the last flow; `until` is when its queue pair number changed owner.
  Facts& OfThese(uint64_t bytes, std::optional<Timestamp> until) {
    FlowCounts counts;
    counts.payload_bytes = bytes;
    counts.messages = 1;
    flows_.back().incarnations.push_back({.until = until, .counts = counts});
    return *this;
  }
  // Sets the rkey of that incarnation's last WRITE.
  Facts& WithKey(uint32_t rkey) {
    flows_.back().incarnations.back().counts.last_rkey = rkey;
    return *this;
  }
  // Sets the segment of the last connection.
  Facts& InSegment(Segment segment) {
    for (ConnectionEndpoint& end : connections_.back().endpoints) end.segment = segment;
    return *this;
  }
  // Adds packets to a queue pair with an unknown partner.
  Facts& OneSided(int host, uint32_t qpn, int peer_host) {
    connections_.push_back(
        {.endpoints = {ConnectionEndpoint{.address = Address(host), .qpn = Qpn{qpn}},
                       ConnectionEndpoint{.address = Address(peer_host), .qpn = std::nullopt}}});
    return *this;
  }
  Facts& Process(HostProcess process) {
    facts_.processes.push_back(std::move(process));
    return *this;
  }
  FlowCounts& Flow(int from, int to, uint32_t qpn) {
    flows_.push_back(
        {.flow = {
             .source = Address(from), .destination = Address(to), .destination_qpn = Qpn{qpn}}});
    return flows_.back().total;
  }
  Facts& Sent(int from, int to, uint32_t qpn, uint64_t bytes, uint64_t messages = 1) {
    FlowCounts& stream = Flow(from, to, qpn);
    stream.payload_bytes = bytes;
    stream.messages = messages;
    return *this;
  }
  Facts& Asked(int from, int to, uint32_t qpn, uint64_t messages = 1) {
    FlowCounts& stream = Flow(from, to, qpn);
    stream.payload_bytes = stream.control_bytes = 64 * messages;
    stream.messages = stream.control_messages = messages;
    return *this;
  }

  Attribution Attribute() {
    std::sort(flows_.begin(), flows_.end(),
              [](const FlowSummary& a, const FlowSummary& b) { return a.flow < b.flow; });
    return AttributeJobs(facts_, connections_, flows_);
  }
  Claims Ranks() {
    Claims ranks;
    for (const auto& ends : Attribute().endpoints) {
      ranks.push_back({ends[0] ? ends[0]->rank : -1, ends[1] ? ends[1]->rank : -1});
    }
    return ranks;
  }
  const HostFacts& host_facts() const { return facts_; }

 private:
  HostFacts facts_;
  std::vector<Connection> connections_;
  std::vector<FlowSummary> flows_;
};

inline JobRank With(JobRank rank, std::vector<JobQueuePair> queue_pairs) {
  rank.queue_pairs = std::move(queue_pairs);
  return rank;
}

inline RdmaQueuePair KernelQp(uint32_t local, uint32_t remote, uint64_t process_id) {
  RdmaQueuePair result;
  result.local = Qpn{local};
  result.remote = Qpn{remote};
  result.type = "RC";
  result.state = "RTS";
  result.process_id = process_id;
  return result;
}

inline RdmaQueuePair KernelQpOn(std::string device, uint32_t local, uint32_t remote,
                                uint64_t process) {
  RdmaQueuePair result = KernelQp(local, remote, process);
  result.device = std::move(device);
  result.port = 1;
  return result;
}

}  // namespace rocescope::test

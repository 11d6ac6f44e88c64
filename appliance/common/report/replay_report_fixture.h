// SPDX-License-Identifier: BSD-3-Clause
// The findings of a small replay, for tests of the report.
#pragma once

#include <google/protobuf/arena.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appliance/common/report/replay_report.h"

namespace rocescope {

inline constexpr uint64_t kBeyondDoubles = 9'007'199'254'740'993;  // 2^53 + 1

inline FlowSummary Flow(const char* source, const char* destination, uint32_t qpn, uint64_t bytes) {
  FlowSummary flow{.flow = {.source = *ParseIpAddress(source),
                            .destination = *ParseIpAddress(destination),
                            .destination_qpn = Qpn{qpn}}};
  flow.total.packets = 10;
  flow.total.bytes = bytes;
  flow.total.payload_bytes = bytes / 2;
  flow.total.messages = 3;
  flow.streams = {{.tap = 0, .ttl = 64}};
  return flow;
}

// Rank 0 on node0 (QP 37) sends 2^53 bytes to rank 1 on node1 (QP 38).
class ReplayReportTest : public testing::Test {
 protected:
  ReplayReportTest() {
    flows_ = {Flow("10.0.0.1", "10.0.0.2", 38, 2 * kBeyondDoubles),
              Flow("10.0.0.2", "10.0.0.1", 37, 400)};
    flows_[1].total.control_messages = 3;
    flows_[1].total.control_bytes = 200;
    flows_[1].total.last_credits = 5;
    flows_[0].total.naks[static_cast<size_t>(NakKind::kSequenceError)] = 2;
    flows_[0].total.missing = 4;
    flows_[0].total.message_sizes[0] = 1;
    flows_[0].total.message_sizes[kMessageSizeBins - 1] = 2;
    flows_[0].total.class_packets[static_cast<size_t>(OperationClass::kWrite)] = 10;

    Connection connection;
    connection.endpoints[0] = {.address = *ParseIpAddress("10.0.0.1"), .qpn = Qpn{37}};
    connection.endpoints[1] = {.address = *ParseIpAddress("10.0.0.2"), .qpn = Qpn{38}};
    connection.state = ConnectionState::kPaired;
    connection.confidence = 0.75;
    connection.evidence = {{.kind = EvidenceKind::kPsnEcho, .count = 2, .of = 3}};
    connections_ = {connection};

    JobRank sender;
    sender.rank = 0;
    sender.host = "node0";
    sender.addresses = {*ParseIpAddress("10.0.0.1")};
    JobQueuePair queue_pair;
    queue_pair.local = Qpn{37};
    queue_pair.address = sender.addresses[0];
    queue_pair.peer = {.own_rank = 0, .peer_rank = 1};
    sender.queue_pairs = {queue_pair};
    JobRank receiver;
    receiver.rank = 1;
    receiver.host = "node1";
    RankEdge edge;
    edge.source_rank = 0;
    edge.destination_rank = 1;
    edge.bytes = kBeyondDoubles;
    edge.messages = 3;
    edge.source_qpns = {Qpn{37}};
    edge.destination_qpns = {Qpn{38}};
    edge.confidence = 0.5;
    Job job;
    job.id = "nccl-abc";
    job.rank_count = 2;
    job.ranks = {sender, receiver};
    job.ranks_seen = 2;
    attribution_.jobs = {{.job = job, .edges = {edge}}};
    attribution_.endpoints = {
        {RankClaim{.rank = 0, .member = 0, .confidence = 0.99},
         RankClaim{.rank = 1, .member = 1, .source = RankSource::kPeer, .confidence = 0.75}}};
  }

  const v1::ReplayReport& Build(std::vector<std::string> notes = {}) {
    const DataplaneTotals dataplane{.taps = {{.name = "leaf1"}}};
    const Snapshot snapshot{.flows = std::make_shared<const FlowSummaries>(flows_),
                            .connections = std::make_shared<const ConnectionList>(connections_),
                            .attribution = std::make_shared<const Attribution>(attribution_),
                            .fabric = fabric_,
                            .paths = std::make_shared<const FlowPaths>()};
    return BuildReplayReport(
        {.dataplane = dataplane, .snapshot = snapshot, .notes = std::move(notes)}, arena_);
  }

  std::vector<FlowSummary> flows_;
  std::vector<Connection> connections_;
  Attribution attribution_;
  std::shared_ptr<const topology::Fabric> fabric_;
  google::protobuf::Arena arena_;
};

}  // namespace rocescope

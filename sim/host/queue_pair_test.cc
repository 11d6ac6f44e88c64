// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "sim/validation/experiment.h"

namespace rocescope::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

// Two hosts on a switch; the test records every frame that arrives there.
class QueuePairTest : public ::testing::Test, public QueuePairObserver, public SwitchObserver {
 protected:
  struct Seen {
    FrameKind kind;
    uint8_t opcode;
    uint64_t sequence;
    bool operator==(const Seen&) const = default;
  };
  // Drops the frames with the given arrival numbers.
  class Losing final : public WireFault {
   public:
    explicit Losing(std::set<uint64_t> which) : which_(std::move(which)) {}
    Fate FateOf(const Frame&) override {
      return which_.contains(count_++) ? Fate::kLost : Fate::kPasses;
    }

   private:
    std::set<uint64_t> which_;
    uint64_t count_ = 0;
  };

  QueuePairTest() : fabric_(topology::Generate(test::Star(2)).value()) {}

  Network& Start(NetworkOptions options = test::Reference()) {
    network_ = std::make_unique<Network>(fabric_, options);
    switch_ = &network_->switch_at(fabric_.FindNode("leaf0"));
    switch_->SetObserver(this);
    connection_ = network_->Connect(0, 1, this);
    return *network_;
  }
  void Run() {
    network_->engine().Run(kSecond);
    EXPECT_EQ(network_->shared().frames.out(), 0u);
  }

  void Delivered(QueuePair& receiver, const Message& message) override {
    EXPECT_EQ(&receiver, connection_.second);
    delivered_.push_back(message.context);
  }
  void Completed(QueuePair&, const Message& message) override {
    completed_.push_back(message.context);
  }
  void Failed(QueuePair&) override { failed_ = true; }
  void Arrives(const Switch&, const Port&, const Frame& frame) override {
    seen_.push_back({frame.kind, frame.opcode, frame.sequence});
    if (frame.opcode == wire::kOpcodeReadRequest) {
      asked_for_.emplace_back(frame.address, frame.dma_length);
    }
  }
  void Queues(const Switch&, const Port&, const Frame&) override {}
  void Departs(const Switch&, const Port&, const Frame&, uint64_t) override {}

  std::vector<uint64_t> Sent(FrameKind kind) const {
    std::vector<uint64_t> sequences;
    for (const Seen& seen : seen_) {
      if (seen.kind == kind) sequences.push_back(seen.sequence);
    }
    return sequences;
  }

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  Switch* switch_ = nullptr;
  Network::Connection connection_{};
  std::vector<uint64_t> delivered_;
  std::vector<uint64_t> completed_;
  std::vector<Seen> seen_;
  std::vector<std::pair<uint64_t, uint32_t>> asked_for_;  // address and length of READ requests
  bool failed_ = false;
};

TEST_F(QueuePairTest, MessageIsSegmentedByMtu) {
  Start();
  connection_.first->Post({.verb = Verb::kWriteWithImmediate, .length = 2500, .context = 1});
  Run();
  EXPECT_THAT(seen_, ElementsAre(Seen{FrameKind::kRequest, wire::kOpcodeWriteFirst, 0},
                                 Seen{FrameKind::kRequest, wire::kOpcodeWriteMiddle, 1},
                                 Seen{FrameKind::kRequest, wire::kOpcodeWriteLastImmediate, 2},
                                 Seen{FrameKind::kAcknowledge, wire::kOpcodeAcknowledge, 0},
                                 Seen{FrameKind::kAcknowledge, wire::kOpcodeAcknowledge, 1},
                                 Seen{FrameKind::kAcknowledge, wire::kOpcodeAcknowledge, 2}));
  EXPECT_THAT(delivered_, ElementsAre(1));
  EXPECT_THAT(completed_, ElementsAre(1));
}

TEST_F(QueuePairTest, SinglePacketMessageUsesTheOnlyOpcode) {
  Start();
  connection_.first->Post({.verb = Verb::kSend, .length = 0});
  connection_.first->Post({.verb = Verb::kWrite, .length = 64});
  Run();
  EXPECT_EQ(seen_[0], (Seen{FrameKind::kRequest, wire::kOpcodeSendOnly, 0}));
  EXPECT_EQ(seen_[1], (Seen{FrameKind::kRequest, wire::kOpcodeWriteOnly, 1}));
}

// IBTA 9.7.3.1: the response uses the PSNs that the request reserved.
TEST_F(QueuePairTest, ReadReservesThePsnsOfItsResponse) {
  Start();
  connection_.first->Post({.verb = Verb::kRead, .length = 2500, .context = 1});
  connection_.first->Post({.verb = Verb::kWrite, .length = 100, .context = 2});
  Run();
  EXPECT_THAT(Sent(FrameKind::kRequest), ElementsAre(0, 3));
  EXPECT_THAT(Sent(FrameKind::kReadResponse), ElementsAre(0, 1, 2));
  EXPECT_THAT(completed_, ElementsAre(1, 2));
}

TEST_F(QueuePairTest, LossCausesOneNakAndGoBackN) {
  NetworkOptions options = test::Reference();
  options.nics.window = 4;
  Start(options);
  Losing wire({1});
  network_->nic(0).port().SetFault(&wire);
  connection_.first->Post({.verb = Verb::kWrite, .length = 5000, .context = 1});
  Run();
  EXPECT_THAT(Sent(FrameKind::kRequest), ElementsAre(0, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_EQ(network_->nic(0).counters().packet_seq_err, 1u);
  EXPECT_EQ(network_->nic(1).counters().out_of_sequence, 3u);
  EXPECT_THAT(delivered_, ElementsAre(1));
}

TEST_F(QueuePairTest, LostLastPacketIsRetransmittedAfterTheTimeout) {
  Start();
  Losing wire({2});
  network_->nic(0).port().SetFault(&wire);
  connection_.first->Post({.verb = Verb::kWrite, .length = 3000, .context = 1});
  Run();
  EXPECT_THAT(Sent(FrameKind::kRequest), ElementsAre(0, 1, 2));
  EXPECT_EQ(network_->nic(0).counters().local_ack_timeout_err, 1u);
  EXPECT_THAT(completed_, ElementsAre(1));
}

TEST_F(QueuePairTest, LostAckIsCoveredByALaterOne) {
  Start();
  Losing wire({0});
  network_->nic(1).port().SetFault(&wire);
  connection_.first->Post({.verb = Verb::kWrite, .length = 2000, .context = 1});
  Run();
  EXPECT_THAT(Sent(FrameKind::kRequest), ElementsAre(0, 1));
  EXPECT_THAT(completed_, ElementsAre(1));
}

// IBTA 9.7.5.2.8: the request starts from the missing packet and is sent once, not for each later
// response.
TEST_F(QueuePairTest, LostReadResponseIsRequestedAgainOnce) {
  Start();
  Losing wire({1});
  network_->nic(1).port().SetFault(&wire);
  connection_.first->Post({.verb = Verb::kRead, .length = 10'000, .address = 0x7000, .context = 1});
  Run();
  EXPECT_THAT(completed_, ElementsAre(1));
  EXPECT_THAT(Sent(FrameKind::kRequest), ElementsAre(0, 1));
  EXPECT_THAT(asked_for_, ElementsAre(Pair(0x7000, 10'000), Pair(0x7000 + 1000, 9'000)));
  EXPECT_THAT(Sent(FrameKind::kReadResponse),
              ElementsAre(0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(seen_, Contains(Seen{FrameKind::kReadResponse, wire::kOpcodeReadResponseFirst, 1}));
}

// A host without a cable: frames leave the NIC for nowhere, and none arrive.
TEST(UnpluggedTest, FramesOfAnUnconnectedNicAreLost) {
  topology::Fabric::Parts parts = topology::Generate(test::Star(2))->parts();
  ASSERT_EQ(parts.links.size(), 2u);
  for (const topology::PortIndex port : parts.links.back().ends) {
    parts.ports[port].link = topology::kNone;
  }
  parts.links.pop_back();
  const topology::Fabric fabric = topology::Fabric::Make(std::move(parts)).value();
  Network network(fabric, test::Reference());
  const Network::Connection ends = network.Connect(0, 1, nullptr);
  for (QueuePair* end : {ends.first, ends.second}) end->Post({.length = 10'000});
  network.nic(1).SetStorm(true);
  network.nic(1).SetUp(false);
  network.nic(1).SetUp(true);
  network.engine().Run(kMillisecond);
  EXPECT_FALSE(network.nic(1).port().up());
  EXPECT_EQ(network.nic(0).delivered() + network.nic(1).delivered(), 0u);
}

TEST_F(QueuePairTest, FailsAfterItsRetries) {
  NetworkOptions options = test::Reference();
  options.nics.ack_timeout = kMillisecond;
  Start(options);
  Losing wire([] {
    std::set<uint64_t> all;
    for (uint64_t i = 0; i < 100; ++i) all.insert(i);
    return all;
  }());
  network_->nic(0).port().SetFault(&wire);
  connection_.first->Post({.verb = Verb::kWrite, .length = 10});
  Run();
  EXPECT_TRUE(failed_);
  // 7 retries and the final timeout
  EXPECT_EQ(network_->nic(0).counters().local_ack_timeout_err, 8u);
  EXPECT_EQ(network_->nic(0).counters().req_transport_retries_exceeded, 1u);
}

// Ten data frames, no ACKs requested: the first CE-marked frame causes a CNP, then at most one
// every 50 us.
TEST_F(QueuePairTest, AtMostOneCnpPerInterval) {
  NetworkOptions options = test::Reference();
  options.nics.dcqcn.cnp_interval = 50 * kMicrosecond;
  options.nics.dcqcn.enabled = false;
  options.switches.ecn = {.minimum = 0, .maximum = 0, .maximum_probability = 1};
  Start(options);
  // The receiver's link is slower, so a queue builds up.
  switch_->port(1).SetRate(10'000'000'000);
  connection_.first->Post({.verb = Verb::kWrite, .length = 150'000});
  Run();
  const NicCounters& receiver = network_->nic(1).counters();
  // The first and the last frame see an empty queue.
  EXPECT_EQ(receiver.np_ecn_marked_roce_packets, 148u);
  // 148 frames of 0.84 us: 123 us from the first CE mark to the last.
  EXPECT_EQ(receiver.np_cnp_sent, 3u);
  EXPECT_EQ(network_->nic(0).counters().rp_cnp_handled, 3u);
}

TEST_F(QueuePairTest, SlowReceiverPausesItsSwitchWithoutLoss) {
  NetworkOptions options = test::Reference();
  options.nics.dcqcn.enabled = false;
  Start(options);
  network_->nic(1).SetReceiveRate(10e9);
  connection_.first->Post({.verb = Verb::kWrite, .length = 4'000'000, .context = 1});
  Run();
  EXPECT_THAT(delivered_, ElementsAre(1));
  EXPECT_GT(switch_->port(1).counters().pause_rx[3], 0u);
  EXPECT_EQ(network_->nic(1).counters().rx_discards, 0u);
}

}  // namespace
}  // namespace rocescope::sim

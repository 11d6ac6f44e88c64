// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs that are connected by a simulated network with loss, delay, reordering and
// duplicates.
#include "testbeds/ovs_lab/endpoint/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "dataplane/wire/opcode.h"
#include "sim/engine/random.h"
#include "testbeds/ovs_lab/endpoint/lab_fixture.h"

namespace rocescope::endpoint {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kLineRate = 1e9;

struct Impairment {
  double loss = 0;
  double duplicates = 0;
  double marks = 0;  // CE, of requests
  Duration delay = microseconds(50);
  Duration jitter{};  // reorders packets
};

class Recorder : public QueuePairObserver {
 public:
  void Delivered(QueuePair&, const Delivery& delivery) override { deliveries.push_back(delivery); }
  void Completed(QueuePair&, uint64_t context) override { completed.push_back(context); }
  void Failed(QueuePair&, FailureCause cause) override { failures.push_back(cause); }
  void Written(QueuePair&, uint64_t address, std::span<const uint8_t> payload) override {
    if (payload.empty()) return;
    if (address != next_address) starts.push_back(address);
    next_address = address + payload.size();
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }

  std::vector<Delivery> deliveries;
  std::vector<uint64_t> completed;
  std::vector<FailureCause> failures;
  std::vector<uint8_t> bytes;    // in the order of their arrival
  std::vector<uint64_t> starts;  // addresses that did not follow the byte before
  uint64_t next_address = 0;
};

class Pair {
 public:
  explicit Pair(const TransportOptions& options = {.ack_timeout = milliseconds(67)},
                uint64_t seed = 1, double line_rate = kLineRate)
      : options_(options), random_(seed) {
    for (int i = 0; i < 2; ++i) {
      const uint32_t own = i == 0 ? kFirstPsn : kOtherFirstPsn;
      const uint32_t other = i == 0 ? kOtherFirstPsn : kFirstPsn;
      ends_[i] = std::make_unique<QueuePair>(
          QueuePair::Identity{.local = Qpn{static_cast<uint32_t>(100 + i)},
                              .remote = Qpn{static_cast<uint32_t>(101 - i)},
                              .first_psn = own,
                              .remote_first_psn = other},
          options_, line_rate, kStart + seconds(1), counters[i], observers[i]);
    }
  }

  QueuePair& end(int i) { return *ends_[i]; }
  Timestamp now() const { return now_; }
  bool AllDone() const { return ends_[0]->idle() && ends_[1]->idle(); }

  // Runs until all work requests are complete, a queue pair fails, or this time has passed.
  void Run(Duration most = seconds(3600)) {
    const Timestamp end = now_ + most;
    while (!AllDone()) {
      Flush();
      Timestamp next = end;
      if (!flying_.empty()) next = std::min(next, flying_.begin()->first);
      for (int i = 0; i < 2; ++i) {
        next = std::min(next, ends_[i]->deadline());
        if (ends_[i]->HasPacket()) next = std::min(next, std::max(now_, ends_[i]->ready()));
      }
      now_ = std::max(now_, next);
      if (now_ >= end) return;
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const auto call = std::move(flying_.begin()->second);
        flying_.erase(flying_.begin());
        call();
      }
      for (int i = 0; i < 2; ++i) {
        ends_[i]->TimeOut(now_);
        if (ends_[i]->HasPacket() && ends_[i]->ready() <= now_) Carry(i, ends_[i]->Send(now_));
      }
    }
  }

  // Called for each packet that is sent; returns whether the network loses it.
  std::function<bool(int, const Packet&)> loses;
  Impairment impairment;
  Counters counters[2];
  Recorder observers[2];
  std::vector<Packet> sent[2];  // without their payloads

  static constexpr uint32_t kFirstPsn = 0xfffff0;  // wraps around soon
  static constexpr uint32_t kOtherFirstPsn = 0x123456;

 private:
  void Flush() {
    for (int i = 0; i < 2; ++i) {
      for (const Packet& response : ends_[i]->TakeResponses()) Carry(i, response);
    }
  }

  void Carry(int from, const Packet& packet) {
    sent[from].push_back(packet);
    sent[from].back().payload = {};
    if (loses && loses(from, packet)) return;
    const int copies = 1 + (random_.Chance(impairment.duplicates) ? 1 : 0);
    for (int i = 0; i < copies; ++i) {
      if (random_.Chance(impairment.loss)) continue;
      Packet copy = packet;
      copy.congestion_experienced = random_.Chance(impairment.marks);
      const auto spread = static_cast<uint64_t>(impairment.jitter.count()) + 1;
      const Duration delay =
          impairment.delay + Duration(static_cast<int64_t>(random_.Below(spread)));
      const std::vector<uint8_t> payload(packet.payload.begin(), packet.payload.end());
      flying_.emplace(now_ + delay, [this, from, copy, payload]() mutable {
        copy.payload = payload;
        ends_[1 - from]->Receive(copy, now_);
      });
    }
  }

  const TransportOptions options_;
  sim::Random random_;
  std::unique_ptr<QueuePair> ends_[2];
  std::multimap<Timestamp, std::function<void()>> flying_;
  Timestamp now_ = kStart;
};

std::vector<uint8_t> OpcodesOf(const std::vector<Packet>& packets) {
  std::vector<uint8_t> opcodes;
  for (const Packet& packet : packets) opcodes.push_back(packet.opcode);
  return opcodes;
}

TEST(QueuePair, SegmentsAWriteWithImmediate) {
  Pair pair;
  pair.end(0).Post({.length = 3000, .address = 0x1000, .rkey = 7, .immediate = 42, .context = 9});
  pair.Run();
  EXPECT_THAT(OpcodesOf(pair.sent[0]),
              ElementsAre(wire::kOpcodeWriteFirst, wire::kOpcodeWriteMiddle,
                          wire::kOpcodeWriteLastImmediate));
  EXPECT_EQ(pair.sent[0][0].reth.dma_length, 3000u);
  EXPECT_EQ(pair.sent[0][0].psn, Pair::kFirstPsn);
  ASSERT_EQ(pair.observers[1].deliveries.size(), 1u);
  EXPECT_EQ(pair.observers[1].deliveries[0].address, 0x1000u);
  EXPECT_EQ(pair.observers[1].deliveries[0].length, 3000u);
  EXPECT_EQ(pair.observers[1].deliveries[0].immediate, 42u);
  EXPECT_THAT(pair.observers[0].completed, ElementsAre(9));
}

TEST(QueuePair, SendsAShortWriteInOnePacket) {
  Pair pair;
  pair.end(0).Post({.length = 64, .address = 0x1000, .data = std::vector<uint8_t>(64, 5)});
  pair.Run();
  EXPECT_THAT(OpcodesOf(pair.sent[0]), ElementsAre(wire::kOpcodeWriteOnly));
  EXPECT_EQ(pair.observers[1].bytes, std::vector<uint8_t>(64, 5));
  EXPECT_FALSE(pair.observers[1].deliveries[0].immediate.has_value());
}

TEST(QueuePair, AcknowledgesEverySixteenthPacketAndTheLast) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.Run();  // from now on the peer is known
  pair.end(0).Post({.length = 40 * 1024});
  pair.Run();
  std::vector<uint32_t> acknowledged;
  for (const Packet& packet : pair.sent[1]) {
    EXPECT_EQ(packet.opcode, wire::kOpcodeAcknowledge);
    acknowledged.push_back((packet.psn - Pair::kFirstPsn) & k24BitMask);
  }
  EXPECT_THAT(acknowledged, ElementsAre(0, 16, 32, 40));
  EXPECT_EQ(pair.sent[1].back().aeth.syndrome, QueuePair::kAckSyndrome);
  EXPECT_EQ(pair.sent[1].back().aeth.msn, 2u);
}

TEST(QueuePair, RequestsAcksByTimeAtALowRate) {
  constexpr double kPacketPerMillisecond = 1106.0 * 8 * 1000;
  Pair pair({.ack_timeout = milliseconds(8)}, 1, kPacketPerMillisecond);
  pair.end(0).Post({.length = 200 * 1024});
  pair.Run();
  EXPECT_TRUE(pair.AllDone());
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 0u);
  EXPECT_EQ(pair.counters[0].retransmitted_packets, 0u);
}

TEST(QueuePair, MergesAcksOfPacketsThatArriveTogether) {
  Pair pair;
  const auto only = [](uint32_t psn) {
    return Packet{.opcode = wire::kOpcodeWriteOnly, .psn = psn, .ack_request = true};
  };
  pair.end(1).Receive(only(Pair::kFirstPsn), kStart);
  pair.end(1).Receive(only(Pair::kFirstPsn + 1), kStart);
  const std::vector<Packet> responses = pair.end(1).TakeResponses();
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].psn, Pair::kFirstPsn + 1);
  EXPECT_EQ(responses[0].aeth.msn, 2u);
}

TEST(QueuePair, GoesBackToALostPacketAfterANak) {
  Pair pair;
  bool lost = false;
  pair.loses = [&](int from, const Packet& packet) {
    if (from == 1 || lost || packet.psn != Pair::kFirstPsn + 3) return false;
    return lost = true;
  };
  pair.end(0).Post({.length = 10 * 1024, .immediate = 1});
  pair.Run();
  EXPECT_TRUE(lost);
  EXPECT_EQ(pair.counters[1].naks_sent, 1u);
  EXPECT_EQ(pair.counters[0].packet_seq_err, 1u);
  EXPECT_GT(pair.counters[1].out_of_sequence, 0u);
  EXPECT_GT(pair.counters[0].retransmitted_packets, 0u);
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 0u);
  EXPECT_EQ(pair.observers[1].bytes.size(), 10u * 1024);
}

TEST(QueuePair, RetransmitsAfterATimeoutIfTheLastPacketIsLost) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.Run();
  int lost = 0;
  pair.loses = [&](int from, const Packet&) { return from == 0 && lost++ == 0; };
  const Timestamp before = pair.now();
  pair.end(0).Post({.length = 64});
  pair.Run();
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 1u);
  EXPECT_EQ(pair.counters[0].retransmitted_packets, 1u);
  EXPECT_GE(pair.now() - before, milliseconds(67));
  EXPECT_EQ(pair.observers[1].deliveries.size(), 2u);
}

TEST(QueuePair, AcknowledgesADuplicateAgainIfTheAckWasLost) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.Run();
  int lost = 0;
  pair.loses = [&](int from, const Packet&) { return from == 1 && lost++ == 0; };
  pair.end(0).Post({.length = 64});
  pair.Run();
  EXPECT_TRUE(pair.AllDone());
  EXPECT_EQ(pair.counters[1].duplicate_request, 1u);
  EXPECT_EQ(pair.observers[1].deliveries.size(), 2u);
}

TEST(QueuePair, FailsAfterTheLastRetry) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.Run();
  pair.loses = [](int, const Packet&) { return true; };
  const Timestamp before = pair.now();
  pair.end(0).Post({.length = 64});
  pair.Run();
  EXPECT_TRUE(pair.end(0).failed());
  EXPECT_THAT(pair.observers[0].failures, ElementsAre(FailureCause::kRetriesExceeded));
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 8u);
  EXPECT_EQ(pair.counters[0].req_transport_retries_exceeded, 1u);
  EXPECT_GE(pair.now() - before, 8 * milliseconds(67));
  EXPECT_FALSE(pair.end(0).HasPacket());
}

TEST(QueuePair, WaitsPatientlyForAPeerThatIsNotUpYet) {
  Pair pair;
  pair.loses = [&](int, const Packet&) { return pair.now() < kStart + milliseconds(900); };
  pair.end(0).Post({.length = 20 * 1024});
  pair.Run();
  EXPECT_TRUE(pair.AllDone());
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 0u);
  EXPECT_EQ(pair.counters[0].retransmitted_packets, 0u);
  EXPECT_EQ(pair.counters[0].connecting_packets, 14u);
}

TEST(QueuePair, FailsIfThePeerNeverComesUp) {
  Pair pair;
  pair.loses = [](int, const Packet&) { return true; };
  pair.end(0).Post({.length = 64});
  pair.Run();
  EXPECT_TRUE(pair.end(0).failed());
  EXPECT_EQ(pair.counters[0].local_ack_timeout_err, 8u);
  EXPECT_GT(pair.now() - kStart, seconds(1));
}

TEST(QueuePair, LimitsTheUnacknowledgedPackets) {
  Pair pair(TransportOptions{.ack_every = 4, .window = 8});
  pair.impairment.delay = milliseconds(2);
  uint64_t most = 0;
  uint64_t sent = 0;
  uint64_t acknowledged = 0;
  pair.loses = [&](int from, const Packet& packet) {
    if (from == 0) {
      most = std::max(most, ++sent - acknowledged);
    } else {
      acknowledged = ((packet.psn - Pair::kFirstPsn) & k24BitMask) + 1;
    }
    return false;
  };
  pair.end(0).Post({.length = 100 * 1024});
  pair.Run();
  EXPECT_EQ(most, 8u);
}

TEST(QueuePair, SendsACnpForCeMarksButNotTooOften) {
  Pair pair;
  pair.impairment.marks = 1;
  pair.end(0).Post({.length = 1000 * 1024});
  pair.Run();
  const double milliseconds_taken =
      std::chrono::duration<double, std::milli>(pair.now() - kStart).count();
  EXPECT_EQ(pair.counters[1].np_ecn_marked_roce_packets, 1000u);
  EXPECT_GT(pair.counters[1].np_cnp_sent, 3u);
  EXPECT_LE(static_cast<double>(pair.counters[1].np_cnp_sent), milliseconds_taken / 2 + 1);
  EXPECT_EQ(pair.counters[0].rp_cnp_handled, pair.counters[1].np_cnp_sent);
  EXPECT_LT(pair.end(0).RateAt(pair.now()), kLineRate / 2);
}

TEST(QueuePair, RefusesAMessageThatDoesNotFitItsLength) {
  Pair pair;
  const std::vector<uint8_t> payload(100);
  pair.end(1).Receive({.opcode = wire::kOpcodeWriteOnly,
                       .psn = Pair::kFirstPsn,
                       .reth = {.dma_length = 99},
                       .payload = payload},
                      kStart);
  const std::vector<Packet> responses = pair.end(1).TakeResponses();
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].aeth.syndrome, 0x60 | wire::kNakInvalidRequest);
  EXPECT_THAT(pair.observers[1].deliveries, IsEmpty());
}

TEST(QueuePair, FailsOnANakForAnInvalidRequest) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.end(0).Send(kStart);
  pair.end(0).Receive({.opcode = wire::kOpcodeAcknowledge,
                       .psn = Pair::kFirstPsn,
                       .aeth = {.syndrome = 0x60 | wire::kNakInvalidRequest}},
                      kStart);
  EXPECT_THAT(pair.observers[0].failures, ElementsAre(FailureCause::kRemoteInvalidRequest));
}

TEST(QueuePair, IgnoresAnAckOfAPacketThatWasNeverSent) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.end(0).Send(kStart);
  pair.end(0).Receive({.opcode = wire::kOpcodeAcknowledge,
                       .psn = (Pair::kFirstPsn + 1) & k24BitMask,
                       .aeth = {.syndrome = QueuePair::kAckSyndrome}},
                      kStart);
  EXPECT_FALSE(pair.end(0).idle());
}

TEST(QueuePair, AClosedOneNeitherSendsNorAnswers) {
  Pair pair;
  pair.end(0).Post({.length = 64});
  pair.end(0).Close();
  EXPECT_FALSE(pair.end(0).HasPacket());
  EXPECT_EQ(pair.end(0).deadline(), QueuePair::kNever);
  pair.end(1).Close();
  pair.end(1).Receive({.opcode = wire::kOpcodeWriteOnly, .psn = Pair::kFirstPsn}, kStart);
  EXPECT_FALSE(pair.end(1).has_responses());
}

struct Case {
  Impairment impairment;
  uint64_t seeds;
};

class EveryByteArrivesOnceInOrder : public ::testing::TestWithParam<Case> {};

TEST_P(EveryByteArrivesOnceInOrder, InBothDirections) {
  for (uint64_t seed = 1; seed <= GetParam().seeds; ++seed) {
    SCOPED_TRACE(seed);
    Pair pair({.ack_timeout = milliseconds(10), .retries = 100}, seed);
    pair.impairment = GetParam().impairment;
    sim::Random random(seed, "messages", 0);
    std::vector<uint8_t> expected[2];
    std::vector<uint64_t> starts[2];
    uint64_t next_address[2] = {};
    for (uint64_t i = 0; i < 40; ++i) {
      const int from = random.Chance(0.5) ? 1 : 0;
      std::vector<uint8_t> data(1 + random.Below(random.Chance(0.3) ? 20'000 : 100));
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(random.Next());
      const uint64_t address = 0x10000 * (i + 1);
      if (address != next_address[from]) starts[from].push_back(address);
      next_address[from] = address + data.size();
      expected[from].insert(expected[from].end(), data.begin(), data.end());
      pair.end(from).Post({.length = data.size(),
                           .address = address,
                           .immediate = static_cast<uint32_t>(i),
                           .data = data,
                           .context = i});
    }
    pair.Run();
    ASSERT_TRUE(pair.AllDone());
    for (int from = 0; from < 2; ++from) {
      const Recorder& at = pair.observers[1 - from];
      ASSERT_EQ(at.bytes, expected[from]);
      ASSERT_EQ(at.starts, starts[from]);
      ASSERT_EQ(at.deliveries.size(), pair.observers[from].completed.size());
      for (size_t i = 0; i < at.deliveries.size(); ++i) {
        ASSERT_EQ(at.deliveries[i].immediate, pair.observers[from].completed[i]);
      }
      ASSERT_THAT(at.failures, IsEmpty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, EveryByteArrivesOnceInOrder,
    ::testing::Values(
        Case{{}, 3}, Case{{.loss = 0.001}, 10}, Case{{.loss = 0.02}, 20}, Case{{.loss = 0.2}, 20},
        Case{{.duplicates = 0.3}, 10}, Case{{.jitter = microseconds(300)}, 10},
        Case{{.marks = 0.1}, 5},
        Case{{.loss = 0.1, .duplicates = 0.1, .marks = 0.05, .jitter = milliseconds(1)}, 20}));

}  // namespace
}  // namespace rocescope::endpoint

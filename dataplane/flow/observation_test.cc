// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/observation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

using testing::Each;
using testing::Field;
using testing::SizeIs;

constexpr int64_t kInterval = 100 * kMillisecond;  // the default

// A table with k = 4 from the second interval on: 1000 packets, of which at most 64 may be
// selected; 1000 / 2^4 = 62.5 is the first value that fits.
FlowFeeder WithKOf4(uint32_t always = 1000) {
  FlowFeeder feeder(
      {.capacity = 256, .sightings = {.chosen_per_interval = 64, .always_per_interval = always}});
  for (uint32_t i = 0; i < 1000; ++i) feeder.Feed(Packet(kWriteMiddle, i, {.qpn = 9}).Payload(4));
  feeder.Feed(Packet(kWriteMiddle, 1000, {.qpn = 9}).Payload(4), kInterval);
  feeder.out().Clear();
  return feeder;
}

std::set<uint32_t> PsnsTo(uint32_t qpn, const RecordBatch& out, TapId tap = 0) {
  std::set<uint32_t> psns;
  for (const ObservationRecord& sighting : out.sightings) {
    if (sighting.flow.destination_qpn.value == qpn && sighting.tap == tap) {
      psns.insert(sighting.psn);
    }
  }
  return psns;
}

// A PSN of the host pair that is not selected by its hash at k = 4.
uint32_t UnchosenPsn() {
  const IpAddress a = IpAddress::FromV4(0x0a000001);
  const IpAddress b = IpAddress::FromV4(0x0a000002);
  uint32_t psn = 1;
  while (IsChosen(HashUnorderedPair(a, b, psn), 4)) ++psn;
  return psn;
}

TEST(Observation, SelectsAllPacketsAtLowRate) {
  FlowFeeder feeder;
  for (uint32_t psn = 0; psn < 50; ++psn) feeder.Feed(WriteOf(psn, 4)).Feed(AckOf(psn));
  EXPECT_THAT(feeder.out().sightings, SizeIs(100));
  EXPECT_THAT(feeder.out().sightings, Each(Field(&ObservationRecord::rate_exponent, 0)));
}

TEST(Observation, ContainsPacketFields) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kWriteFirst, 77, {.ip = {.ecn = 3, .ttl = 61}}, true)
                  .Reth({.virtual_address = 0x7f0000abc000, .rkey = 5, .dma_length = 9000})
                  .Payload(1024),
              5, 2);
  ASSERT_THAT(feeder.out().sightings, SizeIs(1));
  const ObservationRecord& sighting = feeder.out().sightings[0];
  EXPECT_EQ(sighting.flow.destination_qpn.value, 17u);
  EXPECT_EQ(sighting.tap, 2);
  EXPECT_EQ(sighting.kind, ObservationKind::kRequest);
  EXPECT_EQ(sighting.opcode, kWriteFirst);
  EXPECT_EQ(sighting.ttl, 61);
  EXPECT_TRUE(sighting.congestion_experienced);
  EXPECT_TRUE(sighting.ack_request);
  EXPECT_EQ(sighting.psn, 77u);
  EXPECT_EQ(sighting.payload_length, 1024u);
  EXPECT_EQ(sighting.event_time, FromNanoseconds(kStart + 5));
  EXPECT_TRUE(sighting.has_reth);
  EXPECT_EQ(sighting.reth_address, 0x7f0000abc000u);
  EXPECT_EQ(sighting.reth_rkey, 5u);
  EXPECT_EQ(sighting.reth_length, 9000u);
  EXPECT_FALSE(sighting.has_clear_to_send);
}

TEST(Observation, ReportsKind) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 4))
      .Feed(Packet(kReadOnly, 1).Aeth({}).Payload(4))
      .Feed(AckOf(2))
      .Feed(AckOf(3, 0x60))
      .Feed(AckOf(4, 0x2e))
      .Feed(CnpTo())
      .Feed(Packet(kUdSendOnly, 6).Deth({}).Payload(4));
  std::vector<ObservationKind> kinds;
  for (const ObservationRecord& sighting : feeder.out().sightings) kinds.push_back(sighting.kind);
  EXPECT_THAT(kinds, testing::ElementsAre(ObservationKind::kRequest, ObservationKind::kResponse,
                                          ObservationKind::kAcknowledge, ObservationKind::kNak,
                                          ObservationKind::kNak, ObservationKind::kCnp,
                                          ObservationKind::kDatagram));
}

TEST(Observation, MeetsBudgetFromTheNextInterval) {
  FlowFeeder feeder = WithKOf4();
  for (uint32_t i = 0; i < 1000; ++i) {
    feeder.Feed(Packet(kWriteMiddle, i, {.qpn = 9}).Payload(4), kInterval + 1);
  }
  EXPECT_THAT(feeder.out().sightings, Each(Field(&ObservationRecord::rate_exponent, 4)));
  // 1000 trials with probability 1/16: mean 62.5, standard deviation 7.7; tolerance of five
  // standard deviations.
  EXPECT_GT(feeder.out().sightings.size(), 24u);
  EXPECT_LT(feeder.out().sightings.size(), 101u);
}

TEST(Observation, SelectsTheSamePsnsInBothDirections) {
  FlowFeeder feeder = WithKOf4();
  for (uint32_t psn = 0; psn < 500; ++psn) {
    feeder.Feed(Packet(kWriteMiddle, psn, {.qpn = 17}).Payload(4), kInterval);
    feeder.Feed(AckOf(psn, 0x1f, Back(33)), kInterval);
  }
  const auto there = PsnsTo(17, feeder.out());
  EXPECT_FALSE(there.empty());
  EXPECT_EQ(there, PsnsTo(33, feeder.out()));
}

TEST(Observation, SelectsTheSamePacketsAtAllTapsAndTtls) {
  FlowFeeder feeder = WithKOf4();
  for (uint32_t psn = 0; psn < 500; ++psn) {
    feeder.Feed(Packet(kWriteMiddle, psn, {.ip = {.ttl = 64}}).Payload(4), kInterval, 0);
    feeder.Feed(Packet(kWriteMiddle, psn, {.ip = {.ttl = 62}}).Payload(4), kInterval, 1);
  }
  const auto here = PsnsTo(17, feeder.out(), 0);
  EXPECT_FALSE(here.empty());
  EXPECT_EQ(here, PsnsTo(17, feeder.out(), 1));
}

TEST(Observation, HigherKSelectsASubset) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t hash = HashCombine(1, i);
    for (uint8_t k = 1; k <= kMaximumObservationExponent; ++k) {
      ASSERT_TRUE(!IsChosen(hash, k) || IsChosen(hash, static_cast<uint8_t>(k - 1)));
    }
  }
}

// The clear-to-send in one direction and the WRITE in the other have the same address.
TEST(Observation, SelectsBothPacketsOfARethEcho) {
  FlowFeeder feeder = WithKOf4();
  const uint32_t psn = UnchosenPsn();
  const Route back = Back(33);
  uint64_t fifo = 0x7f0000000000;
  const uint64_t pair =
      FoldAddress(IpAddress::FromV4(0x0a000001)) + FoldAddress(IpAddress::FromV4(0x0a000002));
  while (IsChosen(HashAddress(pair, fifo), 4)) fifo += 64;

  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t address = 0x7e0000000000 + i * 4096;
    Bytes element(32, 1);
    for (size_t octet = 0; octet < 8; ++octet) {
      element[octet] = static_cast<uint8_t>(address >> 8 * octet);
    }
    feeder.Feed(Packet(kWriteOnly, psn, back)
                    .Reth({.virtual_address = fifo, .rkey = 1, .dma_length = 32})
                    .Payload(element),
                kInterval);
    feeder.Feed(Packet(kWriteFirst, psn)
                    .Reth({.virtual_address = address, .rkey = 2, .dma_length = 8192})
                    .Payload(64),
                kInterval);
  }
  std::set<uint64_t> granted;
  std::set<uint64_t> used;
  for (const ObservationRecord& sighting : feeder.out().sightings) {
    if (sighting.has_clear_to_send) {
      granted.insert(sighting.granted_address);
    } else if (sighting.has_reth) {
      used.insert(sighting.reth_address);
    }
  }
  EXPECT_EQ(granted, used);
  EXPECT_GT(used.size(), 5u);  // 500 / 16 = 31
  EXPECT_LT(used.size(), 80u);
}

TEST(Observation, ReportsNaksAndCnpsUpToTheLimit) {
  FlowFeeder feeder = WithKOf4(5);
  const uint32_t unchosen = UnchosenPsn();
  for (int i = 0; i < 4; ++i) feeder.Feed(AckOf(unchosen, 0x60), kInterval);
  for (int i = 0; i < 4; ++i) feeder.Feed(AckOf(unchosen, 0x1f), kInterval);  // not a NAK
  for (int i = 0; i < 4; ++i) {
    feeder.Feed(Packet(kCnp, unchosen, Back()).Payload(16), kInterval);
  }
  EXPECT_THAT(feeder.out().sightings, SizeIs(5));
  feeder.Records();
  EXPECT_EQ(feeder.table().statistics().observations_capped, 3u);
}

TEST(Observation, RaisesKWithinAnIntervalOnOverrun) {
  FlowFeeder feeder({.capacity = 256, .sightings = {.chosen_per_interval = 64}});
  for (uint32_t psn = 0; psn < 10'000; ++psn) {
    feeder.Feed(Packet(kWriteMiddle, psn).Payload(4));
  }
  const auto& sightings = feeder.out().sightings;
  EXPECT_TRUE(std::is_sorted(sightings.begin(), sightings.end(), [](const auto& a, const auto& b) {
    return a.rate_exponent < b.rate_exponent;
  }));
  // 10000 / 2^6 = 156 is more than twice 64, 10000 / 2^7 = 78 is not.
  EXPECT_EQ(sightings.back().rate_exponent, 7);
  // 129 until k is 1, then about 64 for each further k.
  EXPECT_LT(sightings.size(), 129u + 7 * 64 * 3 / 2);
  EXPECT_GT(sightings.size(), 129u + 5 * 64 / 2);
}

TEST(Observation, SelectsAllAgainWhenTrafficDrops) {
  FlowFeeder feeder = WithKOf4();
  feeder.Feed(WriteOf(0, 4), 2 * kInterval);  // the previous interval had one packet
  feeder.out().Clear();
  feeder.Feed(WriteOf(1, 4), 3 * kInterval);
  EXPECT_THAT(feeder.out().sightings, SizeIs(1));
  EXPECT_EQ(feeder.out().sightings[0].rate_exponent, 0);
}

}  // namespace
}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
// Several lcores on virtual devices give the same results as a single one.
#include <gtest/gtest.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/pipeline/totals.h"
#include "dataplane/port/spreader.h"
#include "dataplane/port/test_port.h"
#include "tests/support/frame_mix.h"
#include "tests/support/record_text.h"

namespace rocescope::test {
namespace {

uint64_t LostBetween(const SourceStatistics& lcore) {
  return lcore.frames.ledger.dropped[static_cast<size_t>(DropReason::kLostBetweenLcores)];
}

struct Outcome {
  DataplaneTotals totals;
  SourceStatistics lcores[2];
  std::vector<std::string> records;  // sorted, with names of taps
};

// Runs `count` lcores on these queues, assigned in turn. With `wait`, the reader blocks on full
// rings, as it does with files.
class Lcores {
 public:
  Lcores(size_t count, const std::vector<ReceiveQueue>& queues, std::vector<std::string> names,
         bool wait = true) {
    const auto rings = *SpreadRings::Make(static_cast<uint32_t>(count));
    const auto taps = std::make_shared<TapRegistry>(names);
    for (size_t i = 0; i < count; ++i) {
      std::vector<ReceiveQueue> mine;
      for (size_t q = i; q < queues.size(); q += count) mine.push_back(queues[q]);
      loops_.push_back(std::make_unique<ReceiveLoop>(
          ReceiveLoop::Options{.queues = mine,
                               .processor = {.flow_table = {.capacity = 1024}, .taps = taps},
                               .spread = rings,
                               .lcore = static_cast<uint32_t>(i),
                               .wait = wait}));
    }
  }

  ReceiveLoop& operator[](size_t i) { return *loops_[i]; }

  Outcome Run(const std::atomic<bool>& stop) {
    RecordBatch records;
    std::atomic<bool> ended = false;
    std::thread reader([&] {
      for (bool last = false; !last;) {
        last = ended.load();
        for (const auto& loop : loops_) Append(TakeAll(*loop), records);
        std::this_thread::yield();
      }
    });
    TestEal().RunOnLcores(loops_.size(), [&](size_t i) { loops_[i]->Run(stop); });
    ended = true;
    reader.join();
    Outcome outcome;
    for (size_t i = 0; i < loops_.size(); ++i) {
      outcome.totals.Add(loops_[i]->processor(), loops_[i]->MirrorStreams());
      outcome.lcores[i] = loops_[i]->Statistics();
    }
    outcome.records = Lines(records, [&](TapId tap) { return outcome.totals.taps.at(tap).name; });
    std::sort(outcome.records.begin(), outcome.records.end());
    return outcome;
  }

 private:
  static void Append(const RecordBatch& from, RecordBatch& to) {
    to.flows.insert(to.flows.end(), from.flows.begin(), from.flows.end());
    to.sightings.insert(to.sightings.end(), from.sightings.begin(), from.sightings.end());
    to.management.insert(to.management.end(), from.management.begin(), from.management.end());
  }

  std::vector<std::unique_ptr<ReceiveLoop>> loops_;
};

std::vector<RawFrame> FramesOf(const FrameMix& mix, uint16_t tap) {
  std::vector<RawFrame> frames;
  for (const RawFrame& frame : mix.frames()) {
    if (frame.tap == tap) frames.push_back(frame);
  }
  return frames;
}

const std::atomic<bool> kNever = false;

// Two captures as two ports.
Outcome RunFiles(size_t lcores, const FrameMix& mix, uint16_t data_room = 0) {
  const TemporaryFile first(PcapOf(FramesOf(mix, 0)));
  const TemporaryFile second(PcapOf(FramesOf(mix, 1)));
  TestPort a("net_pcap30", "rx_pcap=" + first.path(), {.data_room = data_room});
  TestPort b("net_pcap31", "rx_pcap=" + second.path(), {.data_room = data_room});
  EXPECT_TRUE(a->Start());
  EXPECT_TRUE(b->Start());
  return Lcores(lcores, {{.port = &*a, .tap = 0}, {.port = &*b, .tap = 1}}, {"leaf1", "leaf2"})
      .Run(kNever);
}

void ExpectSame(const Outcome& many, const Outcome& one) {
  EXPECT_EQ(many.totals.counters.ledger, one.totals.counters.ledger);
  EXPECT_EQ(many.totals.counters.roce_frames, one.totals.counters.roce_frames);
  EXPECT_EQ(many.totals.counters.wire_bytes, one.totals.counters.wire_bytes);
  EXPECT_EQ(many.totals.mirrors.size(), one.totals.mirrors.size());
  EXPECT_EQ(many.totals.flows.flows_created, one.totals.flows.flows_created);
  for (const SourceStatistics& lcore : many.lcores) {
    EXPECT_GT(lcore.frames.ledger.received, 100u);
    EXPECT_EQ(LostBetween(lcore), 0u);
  }
}

TEST(Spread, OfOneQueueGivesTheRecordsOfOneLcore) {
  const FrameMix mix(4000);
  const TemporaryFile file(PcapOf(FramesOf(mix, 0)));
  const auto run = [&](size_t lcores, const std::string& name) {
    TestPort port(name, "rx_pcap=" + file.path());
    EXPECT_TRUE(port->Start());
    return Lcores(lcores, {{.port = &*port}}, {"leaf1"}).Run(kNever);
  };
  const Outcome one = run(1, "net_pcap32");
  const Outcome two = run(2, "net_pcap33");
  ExpectSame(two, one);
  EXPECT_EQ(two.records, one.records);
  EXPECT_EQ(two.lcores[0].passed_on, two.lcores[1].frames.ledger.received);
}

TEST(Spread, PassesFramesOfTwoPortsInBothDirections) {
  const FrameMix mix(4000);
  const Outcome two = RunFiles(2, mix);
  ExpectSame(two, RunFiles(1, mix));
  EXPECT_GT(two.lcores[0].passed_on, 0u);
  EXPECT_GT(two.lcores[1].passed_on, 0u);
}

uint64_t LongerThan(size_t bytes, const FrameMix& mix) {
  return static_cast<uint64_t>(
      std::count_if(mix.frames().begin(), mix.frames().end(),
                    [bytes](const RawFrame& frame) { return frame.bytes.size() > bytes; }));
}

TEST(Spread, PassesMultiSegmentFrames) {
  const FrameMix mix(4000);
  const Outcome two = RunFiles(2, mix, 64);
  ExpectSame(two, RunFiles(1, mix, 64));
  // Each frame is copied once, whichever lcore processes it.
  EXPECT_EQ(two.lcores[0].linearised + two.lcores[1].linearised, LongerThan(64, mix));
}

// A live port with frames from memory: a port on two rings.
class RingPort {
 public:
  explicit RingPort(const std::string& name) {
    TestEal();
    for (size_t i = 0; i < 2; ++i) {
      rings_[i] = rte_ring_create((name + std::to_string(i)).c_str(), 4096, SOCKET_ID_ANY,
                                  RING_F_SP_ENQ | RING_F_SC_DEQ);
    }
    const int id = rte_eth_from_rings(name.c_str(), rings_, 2, rings_, 1, 0);
    EXPECT_GE(id, 0);
    port_ = std::move(*Port::Open(static_cast<uint16_t>(id), {.mbufs = 16383}));
  }
  ~RingPort() {
    port_.reset();
    for (rte_ring* ring : rings_) rte_ring_free(ring);
  }

  Port& operator*() { return *port_; }
  Port* operator->() { return port_.get(); }

  void Put(size_t ring, const RawFrame& frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port_->pool());
    ASSERT_NE(mbuf, nullptr);
    char* bytes = rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.bytes.size()));
    ASSERT_NE(bytes, nullptr);
    std::copy(frame.bytes.begin(), frame.bytes.end(), bytes);
    ASSERT_EQ(rte_ring_enqueue(rings_[ring], mbuf), 0);
  }

 private:
  rte_ring* rings_[2];
  std::unique_ptr<Port> port_;
};

TEST(Spread, OfALivePortAccountsForEveryFrameAndFreesAllMbufs) {
  const FrameMix mix(6000);
  RingPort port("net_ring_a");
  ASSERT_EQ(port->queues(), 2);
  ASSERT_TRUE(port->Start());
  for (size_t i = 0; i < mix.frames().size(); ++i) port.Put(i % 2, mix.frames()[i]);
  Lcores lcores(2, {{.port = &*port, .queue = 0}, {.port = &*port, .queue = 1}}, {"wire"}, false);
  std::atomic<bool> stop = false;
  std::thread stopper([&] {
    uint64_t seen = 0;
    while (seen < 6000) {
      seen = 0;
      for (size_t i = 0; i < 2; ++i) {
        const SourceStatistics lcore = lcores[i].Statistics();
        seen += lcore.frames.ledger.received;
      }
      std::this_thread::yield();
    }
    stop = true;
  });
  const Outcome outcome = lcores.Run(stop);
  stopper.join();
  EXPECT_TRUE(outcome.totals.counters.ledger.Balances());
  EXPECT_EQ(outcome.totals.counters.ledger.received, 6000u);
  EXPECT_EQ(outcome.totals.counters.ledger.received, port->Counters()->delivered);
  EXPECT_EQ(port->MbufsInUse(), 0u);
}

TEST(Spread, OfALivePortLeavesNoFramesOnStop) {
  const FrameMix mix(8000);
  RingPort port("net_ring_c");
  ASSERT_TRUE(port->Start());
  for (size_t i = 0; i < mix.frames().size(); ++i) port.Put(i % 2, mix.frames()[i]);
  Lcores lcores(2, {{.port = &*port, .queue = 0}, {.port = &*port, .queue = 1}}, {"wire"});
  const std::atomic<bool> stopped = true;
  const Outcome outcome = lcores.Run(stopped);
  EXPECT_GT(8000u, 2u * port->ring_size());  // more frames than descriptors
  EXPECT_EQ(outcome.totals.counters.ledger.received, 8000u);
  EXPECT_EQ(port->MbufsInUse(), 0u);
}

TEST(Spread, StartsAndStopsAHundredTimesWithTheSameLoops) {
  const FrameMix mix(200);
  RingPort port("net_ring_d");
  Lcores lcores(2, {{.port = &*port, .queue = 0}, {.port = &*port, .queue = 1}}, {"wire"}, false);
  // Each lcore receives the frames that are there, and ends.
  const std::atomic<bool> stopped = true;
  for (uint64_t round = 1; round <= 100; ++round) {
    ASSERT_TRUE(port->Start());
    for (size_t i = 0; i < mix.frames().size(); ++i) port.Put(i % 2, mix.frames()[i]);
    const Outcome outcome = lcores.Run(stopped);
    port->Stop();
    ASSERT_EQ(outcome.totals.counters.ledger.received, 200 * round);
    ASSERT_TRUE(outcome.totals.counters.ledger.Balances());
    ASSERT_EQ(LostBetween(outcome.lcores[0]) + LostBetween(outcome.lcores[1]), 0u);
    ASSERT_EQ(port->MbufsInUse(), 0u) << round;
  }
}

// The ring of a failed lcore fills up; no other lcore waits for it, and the ledger contains the
// lost frames.
TEST(Spread, ContinuesWithoutAFailedLcore) {
  const FrameMix mix(80'000);
  const TemporaryFile file(PcapOf(FramesOf(mix, 0)));
  TestPort port("net_pcap34", "rx_pcap=" + file.path());
  ASSERT_TRUE(port->Start());
  const auto rings = *SpreadRings::Make(2);
  rings->LcoreFailed();
  rings->LcoreEnded();
  ReceiveLoop loop(
      {.queues = {{.port = &*port}},
       .processor = {.flow_table = {.capacity = 1024},
                     .taps = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"})},
       .spread = rings,
       .wait = true});
  loop.records().Abandon();
  loop.Run(kNever);
  const SourceStatistics lcore = loop.Statistics();
  EXPECT_EQ(lcore.frames.ledger.received + SpreadRings::kRingSize, FramesOf(mix, 0).size());
  EXPECT_GT(LostBetween(lcore), 100u);
  EXPECT_TRUE(lcore.frames.ledger.Balances());
  Spreader other(rings, 1, std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"}));
  std::array<rte_mbuf*, Spreader::kBurst> mbufs;
  while (const size_t taken = other.Take(mbufs)) rte_pktmbuf_free_bulk(mbufs.data(), taken);
}

TEST(Spread, CountsFramesDroppedAtAFullRing) {
  RingPort port("net_ring_b");
  const auto rings = *SpreadRings::Make(2);
  Spreader spreader(rings, 0, std::make_shared<TapRegistry>(std::vector<std::string>{"wire"}));
  const FrameMix mix(4000);
  uint64_t others = 0;
  uint64_t dropped = 0;
  for (size_t i = 0; i < 8 * mix.frames().size(); ++i) {
    RawFrame frame = mix.frames()[i % mix.frames().size()];
    frame.tap = 0;
    rte_mbuf* mbuf = rte_pktmbuf_alloc(port->pool());
    ASSERT_NE(mbuf, nullptr);
    if (spreader.KeepOwn({&mbuf, 1}, {&frame, 1}) == 1) {
      rte_pktmbuf_free(mbuf);
      continue;
    }
    ++others;
    if (!spreader.PassOn()) dropped += spreader.DropWaiting();
  }
  const uint64_t room = SpreadRings::kRingSize;
  ASSERT_GT(others, room);
  EXPECT_EQ(spreader.passed_on(), room);
  EXPECT_EQ(dropped, others - room);
  EXPECT_EQ(port->MbufsInUse(), room);
  Spreader owner(rings, 1, std::make_shared<TapRegistry>(std::vector<std::string>{"wire"}));
  std::array<rte_mbuf*, Spreader::kBurst> mbufs;
  while (const size_t taken = owner.Take(mbufs)) rte_pktmbuf_free_bulk(mbufs.data(), taken);
  EXPECT_EQ(port->MbufsInUse(), 0u);
}

}  // namespace
}  // namespace rocescope::test

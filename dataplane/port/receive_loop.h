// SPDX-License-Identifier: BSD-3-Clause
// What one lcore does: receive bursts from its queues, decode and account them, hand records on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/port/port.h"

struct rte_mbuf;  // NOLINT(readability-identifier-naming): DPDK's

namespace rocescope {

class FrameGatherer;
class QueueReader;
class SpreadRings;

// Belongs to its lcore from the beginning of Run to its end; others may use only what is said to be
// theirs meanwhile.
class ReceiveLoop {
 public:
  struct Options {
    std::vector<ReceiveQueue> queues;
    FrameProcessor::Options processor;
    // Where frames go to the lcore that owns their address pair: the rings that all lcores share,
    // and this one's number. Null: each lcore keeps what it receives.
    std::shared_ptr<SpreadRings> spread;
    uint32_t lcore = 0;
    // Files wait when the reader of records or another lcore is slow. A wire does not: it costs
    // records, counted, and in the other case frames, counted too.
    bool wait = false;
    size_t batch_records = RecordExchange::kRecords;
    // Frames have times of our clock, so silence closes intervals too.
    bool our_clock = false;
  };

  explicit ReceiveLoop(Options options);
  ~ReceiveLoop();

  // Until `stop` is set, or until all queues, those of other lcores too if frames are spread, are
  // files that have ended. Then drains the queues and hands over all records, for which it waits:
  // the reader must go on until Run has returned. May be called again, by all lcores that share
  // rings, when all have returned. What it throws (std::bad_alloc) ends this lcore alone: set
  // `stop` for the others.
  void Run(const std::atomic<bool>& stop);

  // Any thread, any time.
  SourceStatistics Statistics() const { return worker_.Statistics(); }
  Senders LastSenders() const { return worker_.LastSenders(); }
  uint64_t beats() const { return worker_.beats(); }

  // The one thread that reads records, any time.
  RecordExchange& records() { return worker_.records(); }

  // After Run.
  const FrameProcessor& processor() const { return worker_.processor(); }
  std::vector<MirrorStream> MirrorStreams() const;
  std::vector<const Port*> UnfinishedFiles() const;  // stopped before their end

 private:
  struct Work;  // the queues, and buffers of a burst

  void RunToTheEnd(const std::atomic<bool>& stop);
  bool ReceiveRound();
  bool ReceiveFrom(QueueReader& queue);
  void PassOn();
  bool TakeFromOthers();
  void Account(FrameGatherer& gatherer, std::span<rte_mbuf*> mbufs, std::span<RawFrame> frames);
  void Drain();
  void RunHousekeeping();
  void CountForOthers();

  const bool waits_;
  std::unique_ptr<Work> work_;
  FrameWorker worker_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The loop of one lcore: receives bursts from its queues, decodes and accounts the frames, and
// hands over the records.
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

// Belongs to its lcore while Run is executing. Other threads may call only the functions marked
// below.
class ReceiveLoop {
 public:
  struct Options {
    std::vector<ReceiveQueue> queues;
    FrameProcessor::Options processor;
    // Rings shared by all lcores, and this lcore's number: frames go to the lcore that owns their
    // address pair. Null: each lcore keeps the frames that it receives.
    std::shared_ptr<SpreadRings> spread;
    uint32_t lcore = 0;
    // Set for files: waits if the reader of records or another lcore is slow. A live port never
    // waits: a slow reader costs records and a slow lcore costs frames, and both are counted.
    bool wait = false;
    size_t batch_records = RecordExchange::kRecords;
    // Frames carry this machine's time, so intervals are also closed when no frames arrive.
    bool our_clock = false;
  };

  explicit ReceiveLoop(Options options);
  ~ReceiveLoop();

  // Runs until `stop` is set, or until all queues (including those of other lcores if frames are
  // distributed) are files that have ended. Then drains the queues and hands over all records,
  // waiting for the reader, which must take records until Run has returned. May be called again by
  // all lcores that share rings after all of them have returned. An exception (std::bad_alloc) ends
  // this lcore only: set `stop` to end the others.
  void Run(const std::atomic<bool>& stop);

  // May be called by any thread at any time.
  SourceStatistics Statistics() const { return worker_.Statistics(); }
  Senders LastSenders() const { return worker_.LastSenders(); }
  uint64_t beats() const { return worker_.beats(); }

  // Used by the reader thread at any time.
  RecordExchange& records() { return worker_.records(); }

  // Only valid after Run.
  const FrameProcessor& processor() const { return worker_.processor(); }
  std::vector<MirrorStream> MirrorStreams() const;
  std::vector<const Port*> UnfinishedFiles() const;  // stopped before their end

 private:
  struct Work;  // the queues, and the buffers of a burst

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

// SPDX-License-Identifier: BSD-3-Clause
// What one lcore does: receive bursts from its queues, decode and account them, hand records on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/lcore/frame_processor.h"
#include "dataplane/lcore/lcore_statistics.h"
#include "dataplane/lcore/published.h"
#include "dataplane/lcore/record_exchange.h"
#include "dataplane/port/port.h"

namespace rocescope {

// A receive queue of a started port.
struct ReceiveQueue {
  const Port* port = nullptr;
  uint16_t queue = 0;
  TapId tap = 0;  // index into FrameProcessor::Options::captures
};

// Belongs to its lcore from the beginning of Run to its end; others may use only what is said to be
// theirs meanwhile.
class ReceiveLoop {
 public:
  struct Options {
    std::vector<ReceiveQueue> queues;
    FrameProcessor::Options processor;
    // Files wait when the reader of records is slow. A wire does not: records are dropped and
    // counted, never frames.
    bool wait_for_reader = false;
    size_t most_records = size_t{1} << 18;  // kept for a slow reader
  };

  explicit ReceiveLoop(Options options);
  ~ReceiveLoop();

  // Until `stop` is set, or until all queues are files that have ended. Then drains the queues and
  // hands over all records, for which it waits: the reader must go on until Run has returned.
  void Run(const std::atomic<bool>& stop);

  // Any thread, any time.
  LcoreStatistics Statistics() const { return published_.Read(); }

  // The one thread that reads records, any time.
  RecordExchange& records() { return exchange_; }

  // After Run.
  const FrameProcessor& processor() const { return processor_; }

 private:
  struct Source;  // a queue and what is known about its end and its clock

  void Poll(Source& source);
  void Drain(Source& source);
  void LookForEnd(Source& source);
  void HandOver();
  void DoNowAndThen(Timestamp now);
  void Finish();
  void Publish();

  const bool wait_for_reader_;
  const size_t most_records_;
  std::vector<Source> sources_;
  FrameProcessor processor_;
  RecordExchange exchange_;
  LcoreStatistics statistics_;
  Published<LcoreStatistics> published_;
  struct Work;  // buffers of a burst
  std::unique_ptr<Work> work_;
};

}  // namespace rocescope

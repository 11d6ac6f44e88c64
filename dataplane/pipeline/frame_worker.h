// SPDX-License-Identifier: BSD-3-Clause
// Common part of the loops over live sources: processes frames into records, passes the records to
// the reader thread, and publishes counters to all threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/mirror_stream.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"

namespace rocescope {

// Senders that number their packets: mirror sessions, INT nodes and sFlow agents.
struct Senders {
  std::vector<MirrorStream> mirrors;
  std::vector<TelemetrySource> telemetry;
  std::vector<RefusedSender> refused;  // TelemetryReader::Refused of each worker

  // Adds the senders that another worker has seen.
  void Merge(const Senders& others);
};

// Belongs to the thread of its loop. Other threads may call only the functions marked below.
class FrameWorker {
 public:
  struct Options {
    FrameProcessor::Options processor;
    RecordExchange::WhenFull when_full = RecordExchange::WhenFull::kKeep;
    size_t batch_records = RecordExchange::kRecords;
    // Frames carry this machine's time, so intervals are also closed when no frames arrive.
    bool our_clock = false;
    // Avoids latency spikes of milliseconds on live ports, at the cost of about 630 MB of memory.
    bool steady = false;
  };

  explicit FrameWorker(const Options& options);

  // Counts frames that arrived here, whichever core processes them. They must be in order of
  // arrival and not empty.
  void CountArrived(std::span<const RawFrame> frames);

  void Process(std::span<const RawFrame> frames) {
    processor_.Process(frames, exchange_.current());
    HandOverIfFull();
  }
  // Processes datagrams from a UDP socket, with the source address of each.
  void ProcessDatagrams(FrameKind kind, std::span<const RawFrame> datagrams,
                        std::span<const IpAddress> sources) {
    processor_.ProcessDatagrams(kind, datagrams, sources, exchange_.current());
    HandOverIfFull();
  }

  // Call several times a second, also when no frames arrive. Closes intervals that are due at `now`
  // (this machine's time), hands records over and publishes counters.
  void RunHousekeeping(Timestamp now);

  // Call at the end. Hands over all remaining records and waits for the reader.
  void Finish();

  // The loop itself counts these frames; they are published with the other counters.
  void SetLinearised(uint64_t frames) { statistics_.linearised = frames; }
  void SetPassedOn(uint64_t frames) { statistics_.passed_on = frames; }
  void SetMissed(uint64_t frames) { statistics_.missed = frames; }
  void CountDropped(DropReason reason, uint64_t frames) { processor_.CountDropped(reason, frames); }

  // May be called by any thread at any time.
  SourceStatistics Statistics() const { return published_.Read(); }
  // Returns the senders as of about one second ago. May be called by any thread.
  Senders LastSenders() const;
  // Increases several times a second; may be called by any thread.
  uint64_t beats() const { return published_.count(); }
  // Used by the reader thread at any time.
  RecordExchange& records() { return exchange_; }
  // Only valid while no loop runs.
  const FrameProcessor& processor() const { return processor_; }

 private:
  void HandOverIfFull() {
    if (exchange_.IsFull()) HandOver();
  }
  // The time before which no further record is expected, apart from late ones.
  Timestamp Reached() const {
    const Timestamp last = processor_.counters().last;
    return last == before_step_ ? clock_ : std::max(last, closed_until_);
  }
  void FollowClock(Timestamp now);
  void HandOver() { exchange_.HandOver(Reached(), when_full_); }
  void Publish();
  void CopySenders(Timestamp now);

  const RecordExchange::WhenFull when_full_;
  const bool our_clock_;
  FrameProcessor processor_;
  RecordExchange exchange_;
  Timestamp closed_until_;
  Timestamp clock_;  // time of the last activity
  // Time of the last frame before the clock was set back.
  Timestamp before_step_ = Timestamp::max();
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
  uint32_t until_senders_ = 0;  // number of calls of RunHousekeeping
  mutable std::mutex mutex_;    // protects the list of senders; the worker never waits for it
  Senders senders_;
};

}  // namespace rocescope

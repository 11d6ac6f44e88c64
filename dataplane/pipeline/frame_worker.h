// SPDX-License-Identifier: BSD-3-Clause
// What the loops over live sources have in common: frames into records, records to the thread that
// reads them, and counters that any thread may look at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/pipeline/mirror_stream.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"

namespace rocescope {

// Who numbers what it sends by one source: mirrors' sessions, INT nodes and sFlow agents.
struct Senders {
  std::vector<MirrorStream> mirrors;
  std::vector<TelemetrySource> telemetry;
};

// Belongs to the thread of its loop; others may use what is said to be theirs.
class FrameWorker {
 public:
  struct Options {
    FrameProcessor::Options processor;
    RecordExchange::WhenFull when_full = RecordExchange::WhenFull::kKeep;
    size_t batch_records = RecordExchange::kRecords;
    // Frames have times of our clock, so silence closes intervals too.
    bool our_clock = false;
    // For a wire that waits for nobody: no frame takes milliseconds, at the price of some 630 MB.
    bool steady = false;
  };

  explicit FrameWorker(const Options& options);

  // Frames that arrived here, whoever processes them; not empty, in order of arrival.
  void CountArrived(std::span<const RawFrame> frames);

  void Process(std::span<const RawFrame> frames) {
    processor_.Process(frames, exchange_.current());
    HandOverIfFull();
  }
  // What came by a socket of its own.
  void ProcessDatagrams(FrameKind kind, std::span<const RawFrame> datagrams) {
    processor_.ProcessDatagrams(kind, datagrams, exchange_.current());
    HandOverIfFull();
  }

  // Some times a second, also when nothing comes: closes what is due at `now`, our clock's time,
  // hands records over, publishes.
  void RunHousekeeping(Timestamp now);

  // At the end: all that is left. Waits for the reader.
  void Finish();

  // Counted by the loop itself, and published with the rest.
  void SetLinearised(uint64_t frames) { statistics_.linearised = frames; }
  void SetPassedOn(uint64_t frames) { statistics_.passed_on = frames; }
  void SetMissed(uint64_t frames) { statistics_.missed = frames; }
  void CountDropped(DropReason reason, uint64_t frames) { processor_.CountDropped(reason, frames); }

  // Any thread, any time.
  SourceStatistics Statistics() const { return published_.Read(); }
  // Who sends here, as of the last second or so.
  Senders LastSenders() const;
  uint64_t beats() const { return published_.count(); }  // grows some times a second
  // The one thread that reads records, any time.
  RecordExchange& records() { return exchange_; }
  // While no loop runs.
  const FrameProcessor& processor() const { return processor_; }

 private:
  void HandOverIfFull() {
    if (exchange_.IsFull()) HandOver();
  }
  // No earlier record will come, but a late one.
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
  Timestamp clock_;                           // when something was done last
  Timestamp before_step_ = Timestamp::max();  // the last frame's, when our clock was set back
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
  uint32_t until_senders_ = 0;  // calls of RunHousekeeping
  mutable std::mutex mutex_;    // of the next one; the worker does not wait for it
  Senders senders_;
};

}  // namespace rocescope

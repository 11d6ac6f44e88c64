// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/frame_worker.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

// Event time lags arrival by at most this much when no packets arrive.
constexpr Duration kLateness = std::chrono::seconds(1);

FrameProcessor::Options ProcessorOf(const FrameWorker::Options& options) {
  FrameProcessor::Options processor = options.processor;
  processor.flow_table.steady = options.steady;
  return processor;
}

bool IsSame(const MirrorStream& a, const MirrorStream& b) {
  return a.session == b.session && a.capture == b.capture && a.kind == b.kind &&
         a.source == b.source;
}
bool IsSame(const TelemetrySource& a, const TelemetrySource& b) {
  return a.is_sflow == b.is_sflow && a.tap == b.tap && a.node_id == b.node_id &&
         a.hardware_id == b.hardware_id && a.agent == b.agent && a.sub_agent == b.sub_agent;
}
bool IsSame(const RefusedSender& a, const RefusedSender& b) {
  return a.is_sflow == b.is_sflow && a.source == b.source && a.node_id == b.node_id &&
         a.agent == b.agent;
}
uint64_t HeardOf(const MirrorStream& stream) { return stream.frames; }
uint64_t HeardOf(const TelemetrySource& sender) { return sender.datagrams; }
uint64_t HeardOf(const RefusedSender& sender) { return sender.datagrams; }

// Updates last_received of the senders that sent something since the previous copy. Both copies
// have the same order, and no packet bears a cost.
template <typename Sender>
void NoteWhoIsHeard(const std::vector<Sender>& before, Timestamp now, std::vector<Sender>& fresh) {
  auto rest = before.begin();
  for (Sender& sender : fresh) {
    const auto at = std::find_if(rest, before.end(),
                                 [&](const Sender& known) { return IsSame(known, sender); });
    const bool is_silent = at != before.end() && HeardOf(*at) == HeardOf(sender);
    sender.last_received = is_silent ? at->last_received : now;
    if (at != before.end()) rest = std::next(at);
  }
}

}  // namespace

void Senders::Merge(const Senders& others) {
  MergeMirrorStreams(mirrors, others.mirrors);
  telemetry.insert(telemetry.end(), others.telemetry.begin(), others.telemetry.end());
  refused.insert(refused.end(), others.refused.begin(), others.refused.end());
}

FrameWorker::FrameWorker(const Options& options)
    : when_full_(options.when_full),
      our_clock_(options.our_clock),
      processor_(ProcessorOf(options)),
      exchange_(options.batch_records, options.steady) {}

void FrameWorker::CountArrived(std::span<const RawFrame> frames) {
  for (const RawFrame& frame : frames) statistics_.bytes += frame.original_length;
  if (!statistics_.received_any) statistics_.first_arrival = frames.front().timestamp;
  statistics_.received_any = true;
  statistics_.first_arrival = std::min(statistics_.first_arrival, frames.front().timestamp);
  statistics_.last_arrival = std::max(statistics_.last_arrival, frames.back().timestamp);
}

// After the system clock was set back, earlier timestamps are in the future. They are ignored until
// the clock reaches them again.
void FrameWorker::FollowClock(Timestamp now) {
  constexpr Duration kStep = std::chrono::seconds(2);
  const Timestamp last = processor_.counters().last;
  if (now + kStep < clock_ && now + kStep < last) before_step_ = last;
  if (now >= before_step_) before_step_ = Timestamp::max();
  clock_ = now;
}

void FrameWorker::RunHousekeeping(Timestamp now) {
  FollowClock(now);
  if (our_clock_) {
    closed_until_ = now - kLateness;
    processor_.Advance(closed_until_, exchange_.current());
  }
  HandOver();
  Publish();
  constexpr uint32_t kBeatsASecond = 20;
  if (until_senders_-- == 0) {
    until_senders_ = kBeatsASecond;
    CopySenders(now);
  }
}

void FrameWorker::CopySenders(Timestamp now) {
  Senders fresh = {.mirrors = processor_.taps().MirrorStreams(),
                   .telemetry = processor_.telemetry().Sources(),
                   .refused = processor_.telemetry().Refused()};
  NoteWhoIsHeard(senders_.mirrors, now, fresh.mirrors);
  NoteWhoIsHeard(senders_.telemetry, now, fresh.telemetry);
  NoteWhoIsHeard(senders_.refused, now, fresh.refused);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) std::swap(senders_, fresh);
}

Senders FrameWorker::LastSenders() const {
  const std::lock_guard lock(mutex_);
  return senders_;
}

void FrameWorker::Finish() {
  processor_.Flush(exchange_.current());
  exchange_.HandOver(Reached(), RecordExchange::WhenFull::kWait);
  Publish();
}

void FrameWorker::Publish() {
  statistics_.frames = processor_.counters();
  statistics_.flows = processor_.flows().statistics();
  statistics_.flows_open = processor_.flows().size();
  statistics_.records = exchange_.handed_over();
  statistics_.records_dropped = exchange_.dropped();
  published_.Publish(statistics_);
}

}  // namespace rocescope

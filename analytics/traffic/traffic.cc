// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/traffic.h"

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

constexpr uint32_t kEvictionCandidates = 16;
constexpr size_t kMaxCuts = 256;  // pending cuts of one flow
int64_t Unwrap(int64_t near, uint32_t psn) {
  return near + PsnDistance(static_cast<uint32_t>(near) & k24BitMask, psn);
}

// PSNs missing in the previous incarnation may appear in this one.
uint64_t Positive(uint64_t missing) { return static_cast<int64_t>(missing) < 0 ? 0 : missing; }

// `streams` is sorted by tap. Stops when `visit` returns false; returns whether it never did.
template <typename Visit>
bool VisitTapPairs(const std::vector<FlowStream>& streams, Visit visit) {
  for (size_t i = 0; i < streams.size(); ++i) {
    if (i > 0 && streams[i].tap == streams[i - 1].tap) continue;
    for (size_t j = 0; j < i; ++j) {
      if (j > 0 && streams[j].tap == streams[j - 1].tap) continue;
      if (streams[j].tap == streams[i].tap) break;
      if (!visit(streams[j].tap, streams[i].tap)) return false;
    }
  }
  return true;
}

}  // namespace

const FlowCounts* FlowSummary::Of(std::optional<Timestamp> valid_until) const {
  if (incarnations.empty()) return &total;
  for (const FlowIncarnation& incarnation : incarnations) {
    if (incarnation.until == valid_until) return &incarnation.counts;
  }
  return nullptr;
}

void TapVotes::Add(const std::vector<FlowStream>& streams, int vote) {
  VisitTapPairs(streams, [&](TapId a, TapId b) {
    votes_[KeyOf(a, b)].sum += vote;
    return true;
  });
}

bool TapVotes::ForParts(const std::vector<FlowStream>& streams) const {
  return VisitTapPairs(streams, [&](TapId a, TapId b) {
    const auto at = votes_.find(KeyOf(a, b));
    return at != votes_.end() && at->second.sum > 0;
  });
}

bool TapVotes::TakeChange() {
  bool changed = false;
  for (auto& [taps, votes] : votes_) {
    changed |= votes.was_for_parts != (votes.sum > 0);
    votes.was_for_parts = votes.sum > 0;
  }
  return changed;
}

TrafficTotals::TrafficTotals(FlowRegistry& flows, const TrafficLimits& limits)
    : registry_(flows), limits_(limits) {
  flows.OnEviction([this](FlowId flow) {
    if (flow < flows_.size()) Evict(flow);
  });
}

void TrafficTotals::Approach(FlowId flow) const {
  if (flow < flows_.size()) PrefetchLines<1>(&flows_[flow]);
}

void TrafficTotals::ApproachStream(FlowId flow) const {
  if (flow >= flows_.size()) return;
  const uint32_t stream = flows_[flow].first_stream;
  if (stream < streams_.size()) PrefetchLines<sizeof(Stream) / 64>(&streams_[stream]);
}

void TrafficTotals::Add(FlowId id, const FlowRecord& record) {
  // The flow is not listed, and copies at several taps cannot be recognised.
  if (id == kNoFlow) {
    statistics_.evicted += CountsOf(record);
    return;
  }
  Stream& stream = FindOrAdd(id, record);
  Flow& flow = flows_[id];
  MarkChanged(id);
  while (HasCut(flow) && record.last_seen >= flow.history->cuts.front()) EndIncarnation(id);
  if (record.interval_start < flow.interval) return AddLate(stream, flow, record);
  if (record.interval_start > flow.interval) {
    CloseInterval(flow);
    flow.interval = record.interval_start;
  }
  Follow(stream, flow, record);
  if (stream.now == nullptr) {
    stream.counts += CountsOf(record);
  } else if (!stream.now->open) {
    stream.now->open = true;
    stream.now->counts = CountsOf(record);
  } else {
    stream.now->counts += CountsOf(record);
  }
}

TrafficTotals::History& TrafficTotals::HistoryOf(Flow& flow) {
  if (flow.history == nullptr) flow.history = std::make_unique<History>();
  return *flow.history;
}

void TrafficTotals::AddLate(Stream& stream, Flow& flow, const FlowRecord& record) {
  ++statistics_.late_records;
  // The record belongs to an incarnation whose sum is complete.
  if (flow.history != nullptr && record.last_seen < flow.history->begins) return;
  stream.counts += CountsOf(record);
}

// For the current incarnation.
PsnSpans TrafficTotals::SpansOf(const Stream& stream) {
  PsnSpans spans = stream.spans;
  if (stream.now != nullptr) {
    for (size_t space = 0; space < 2; ++space) spans[space].Extend(stream.now->spans[space]);
  }
  return spans;
}

// Updates the part of the sequence that the stream has shown.
void TrafficTotals::Follow(Stream& stream, Flow& flow, const FlowRecord& record) {
  const uint32_t responses =
      record.class_packets[static_cast<size_t>(OperationClass::kReadResponse)];
  for (size_t space = 0; space < 2; ++space) {
    const PsnCounts& psns = space == 0 ? record.requests : record.responses;
    if (space == 0 ? !psns.valid : responses == 0) continue;
    const bool is_only = flow.stream_count == 1;
    const int64_t furthest = is_only ? SpansOf(stream)[space].last : flow.history->furthest[space];
    const int64_t last =
        furthest != PsnSpan::kNone ? Unwrap(furthest, psns.last_psn) : psns.last_psn;
    // Records contain the start of the requests, but not of the responses.
    const int64_t first =
        space == 0 ? Unwrap(last, record.first_request_psn) : last - (int64_t{responses} - 1);
    const PsnSpan& before = stream.spans[space];
    int64_t skipped = psns.missing;
    // A long gap looks like a restart and is then not in `unseen`.
    if (psns.restarts > 0 && !before.IsEmpty()) {
      skipped += std::max<int64_t>(0, first - before.last - 1);
    }
    (stream.now != nullptr ? stream.now->skipped : stream.skipped) += skipped;
    (stream.now != nullptr ? stream.now->spans : stream.spans)[space].Extend(first, last);
    if (!is_only) flow.history->furthest[space] = std::max(furthest, last);
  }
}

// Combines the views of all intervals up to the open one.
FlowCounts TrafficTotals::ByInterval(const Flow& flow, bool& copies) const {
  std::vector<CopyView> views;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    const Stream& stream = streams_[i];
    if (!stream.now->open) continue;
    views.push_back({.tap = stream.tap,
                     .counts = &stream.now->counts,
                     .spans = stream.now->spans,
                     .skipped = stream.now->skipped,
                     .starts = stream.spans[0].IsEmpty() && stream.spans[1].IsEmpty()});
  }
  FlowCounts counts = flow.history->joined;
  if (views.empty()) return counts;
  const FlowCounts now = CountsOfInterval(views, copies);
  if (!flow.joined_now) counts += now;
  return counts;
}

void TrafficTotals::CloseInterval(Flow& flow) {
  if (flow.stream_count > 1) flow.history->joined = ByInterval(flow, flow.has_copies);
  flow.joined_now = false;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    Stream& stream = streams_[i];
    if (stream.now == nullptr || !stream.now->open) continue;
    stream.counts += stream.now->counts;
    for (size_t space = 0; space < 2; ++space) stream.spans[space].Extend(stream.now->spans[space]);
    stream.skipped += stream.now->skipped;
    *stream.now = {};
    if (flow.stream_count == 1) stream.now.reset();
  }
}

void TrafficTotals::Cut(FlowId flow, Timestamp time) {
  std::vector<Timestamp>& cuts = HistoryOf(StateOf(flows_, flow)).cuts;
  if (std::find(cuts.begin(), cuts.end(), time) != cuts.end()) return;
  if (cuts.size() >= kMaxCuts) {
    ++statistics_.incarnations_merged;
    return;
  }
  cuts.insert(std::upper_bound(cuts.begin(), cuts.end(), time), time);
  if (flows_[flow].first_stream != kNone) MarkChanged(flow);
}

void TrafficTotals::MarkChanged(FlowId flow) {
  if (!std::exchange(flows_[flow].changed, true)) changed_.push_back(flow);
}

void TrafficTotals::EndIncarnation(FlowId number) {
  Flow& flow = flows_[number];
  CloseInterval(flow);
  const FlowCounts counts = PresentOf(flow).counts;
  History& history = *flow.history;
  history.begins = history.cuts.front();
  history.cuts.erase(history.cuts.begin());
  flow.has_copies = false;
  history.joined = {};
  history.furthest = {PsnSpan::kNone, PsnSpan::kNone};
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    streams_[i].spans = {};
    streams_[i].skipped = 0;
    streams_[i].counts = {};
  }
  if (counts.packets == 0) return;
  history.ended.push_back({.until = history.begins, .counts = counts});
  ended_order_.push_back(number);
  if (ended_order_.size() <= limits_.closed_incarnations) return;
  const uint32_t place = ended_order_.front();
  ended_order_.pop_front();
  if (flows_[place].history == nullptr || flows_[place].history->ended.empty()) return;  // evicted
  MarkChanged(place);
  History& oldest = *flows_[place].history;
  if (oldest.merged == nullptr) oldest.merged = std::make_unique<FlowCounts>();
  *oldest.merged += oldest.ended.front().counts;
  oldest.ended.erase(oldest.ended.begin());
  ++statistics_.incarnations_merged;
}

TrafficTotals::Stream& TrafficTotals::FindOrAdd(FlowId id, const FlowRecord& record) {
  Flow& flow = StateOf(flows_, id);
  if (flow.first_stream == kNone) flow.interval = record.interval_start;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    if (streams_[i].tap == record.tap && streams_[i].ttl == record.ttl) return streams_[i];
  }
  return AddStream(id, record);
}

TrafficTotals::Stream& TrafficTotals::AddStream(FlowId id, const FlowRecord& record) {
  const uint32_t number = TakeStream(id);
  Flow& flow = flows_[id];
  // So far the only stream was the best one.
  if (flow.stream_count == 1) {
    Stream& only = streams_[flow.first_stream];
    History& history = HistoryOf(flow);
    history.joined = only.counts.Unpacked();
    const PsnSpans spans = SpansOf(only);
    history.furthest = {spans[0].last, spans[1].last};
    flow.joined_now = only.now == nullptr;
    if (only.now == nullptr) only.now = std::make_unique<Interval>();
  }
  Stream& stream = streams_[number];
  stream = {};
  stream.now = std::make_unique<Interval>();
  stream.tap = record.tap;
  stream.ttl = record.ttl;
  stream.next = std::exchange(flow.first_stream, number);
  ++flow.stream_count;
  return stream;
}

uint32_t TrafficTotals::TakeStream(FlowId kept_flow) {
  if (free_streams_.empty() && streams_.size() >= limits_.streams) {
    uint32_t victim = kNone;
    for (uint32_t seen = 0; seen < flows_.size(); ++seen) {
      if (seen >= kEvictionCandidates && victim != kNone) break;
      hand_ = (hand_ + 1) % static_cast<uint32_t>(flows_.size());
      if (hand_ == kept_flow || flows_[hand_].first_stream == kNone) continue;
      if (victim == kNone || flows_[hand_].interval < flows_[victim].interval) victim = hand_;
    }
    if (victim != kNone) Evict(victim);
  }
  // One flow has all streams: exceeding the limit by one is the lesser evil.
  if (free_streams_.empty()) {
    streams_.emplace_back();
    return static_cast<uint32_t>(streams_.size() - 1);
  }
  const uint32_t number = free_streams_.back();
  free_streams_.pop_back();
  return number;
}

void TrafficTotals::Evict(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.first_stream != kNone) {
    statistics_.evicted += SummaryOf(id, PresentOf(flow)).total;
    ++statistics_.flows_evicted;
    Vote(id, {}, 0);
    gone_.push_back(registry_.key(id));
  }
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) free_streams_.push_back(i);
  flow = {};
}

FlowCounts TrafficTotals::SumOf(const Stream& stream) {
  FlowCounts sum = stream.counts.Unpacked();
  if (stream.now != nullptr && stream.now->open) sum += stream.now->counts;
  return sum;
}

// Returns what the current incarnation carried.
JoinedView TrafficTotals::PresentOf(const Flow& flow) const {
  std::vector<FlowCounts> counts;
  std::vector<CopyView> views;
  counts.reserve(flow.stream_count);
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    const Stream& stream = streams_[i];
    FlowCounts sum = SumOf(stream);
    if (flow.stream_count == 1) {
      sum.missing = Positive(sum.missing);
      return {.counts = sum};
    }
    if (sum.packets == 0) continue;
    counts.push_back(sum);
    views.push_back({.tap = stream.tap,
                     .counts = &counts.back(),
                     .spans = SpansOf(stream),
                     .skipped = stream.skipped + stream.now->skipped});
  }
  if (views.empty()) return {};
  bool copies = flow.has_copies;
  const FlowCounts by_interval = ByInterval(flow, copies);
  JoinedView present = Join(views, by_interval, copies);
  present.counts.missing = Positive(present.counts.missing);
  return present;
}

FlowCounts TrafficTotals::SumOfStreams(const Flow& flow) const {
  FlowCounts sum;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    sum += SumOf(streams_[i]);
  }
  sum.missing = Positive(sum.missing);
  return sum;
}

FlowSummary TrafficTotals::SummaryOf(FlowId id, const JoinedView& present) const {
  const Flow& flow = flows_[id];
  FlowSummary summary{.flow = registry_.key(id), .agreement = present.agreement};
  const History none;
  const History& history = flow.history != nullptr ? *flow.history : none;
  if (history.merged != nullptr) summary.total = *history.merged;
  for (const FlowIncarnation& incarnation : history.ended) summary.total += incarnation.counts;
  summary.total += present.counts;
  if (!history.ended.empty() || history.merged != nullptr || !history.cuts.empty()) {
    summary.incarnations = history.ended;
    std::optional<Timestamp> until;
    if (!history.cuts.empty()) until = history.cuts.front();
    if (present.counts.packets > 0) {
      summary.incarnations.push_back({.until = until, .counts = present.counts});
    }
  }
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    summary.streams.push_back({.tap = streams_[i].tap, .ttl = streams_[i].ttl});
  }
  std::sort(summary.streams.begin(), summary.streams.end(),
            [](const FlowStream& a, const FlowStream& b) {
              return a.tap != b.tap ? a.tap < b.tap : a.ttl > b.ttl;
            });
  return summary;
}

// Replaces the flow's vote, which counts for the streams of its last answer; 0 withdraws it. A
// sprayed flow has many pairs of taps, so a vote that does not change is left as it is.
void TrafficTotals::Vote(FlowId id, const std::vector<FlowStream>& streams, int8_t vote) {
  Flow& flow = flows_[id];
  if (flow.vote != 0) {
    const FlowSummary& last = *summaries_->Find(registry_.key(id), &FlowSummary::flow);
    if (flow.vote == vote && last.streams == streams) return;
    votes_.Add(last.streams, -flow.vote);
  }
  if (vote != 0) votes_.Add(streams, vote);
  flow.vote = vote;
}

// Call this before counting the votes: determines the flow's own vote.
FlowSummary TrafficTotals::Summarize(FlowId id) {
  Flow& flow = flows_[id];
  const JoinedView present = PresentOf(flow);
  FlowSummary summary = SummaryOf(id, present);
  const bool one_tap = summary.streams.front().tap == summary.streams.back().tap;
  flow.untold = !one_tap && !present.told;  // ACKs and CNPs have no sequence numbers
  const bool votes = !one_tap && present.told;
  Vote(id, summary.streams, static_cast<int8_t>(votes ? (present.parts ? 1 : -1) : 0));
  return summary;
}

std::shared_ptr<const FlowSummaries> TrafficTotals::Summaries() {
  if (changed_.empty() && gone_.empty()) return summaries_;
  // An id may belong to another flow now and appear twice.
  const auto order = [&](std::vector<FlowId>& flows) {
    std::erase_if(flows, [this](FlowId i) { return flows_[i].first_stream == kNone; });
    std::ranges::sort(flows, {}, [this](FlowId i) -> const FlowKey& { return registry_.key(i); });
    flows.erase(std::ranges::unique(flows).begin(), flows.end());
  };
  order(changed_);
  std::vector<FlowSummary> fresh;
  fresh.reserve(changed_.size());
  for (const FlowId i : changed_) fresh.push_back(Summarize(i));
  if (votes_.TakeChange()) {
    for (FlowId i = 0; i < flows_.size(); ++i) {
      if (flows_[i].untold) MarkChanged(i);
    }
    order(changed_);
    std::vector<FlowSummary> all;
    size_t next = 0;
    for (const FlowId i : changed_) {
      const bool is_there = next < fresh.size() && fresh[next].flow == registry_.key(i);
      all.push_back(is_there ? std::move(fresh[next++]) : Summarize(i));
    }
    fresh = std::move(all);
  }
  std::vector<FlowKey> keys = std::exchange(gone_, {});
  for (size_t i = 0; i < changed_.size(); ++i) {
    Flow& flow = flows_[changed_[i]];
    flow.changed = false;
    keys.push_back(registry_.key(changed_[i]));
    if (!flow.untold || !votes_.ForParts(fresh[i].streams)) continue;
    fresh[i] =
        SummaryOf(changed_[i], {.counts = SumOfStreams(flow), .agreement = TapAgreement::kJoined});
  }
  changed_.clear();
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  summaries_ = std::make_shared<const FlowSummaries>(
      summaries_->With(keys, std::move(fresh), &FlowSummary::flow));
  return summaries_;
}

}  // namespace rocescope

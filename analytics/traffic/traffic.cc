// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/traffic.h"

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

constexpr uint32_t kEvictionCandidates = 16;
constexpr size_t kMostCuts = 256;  // of one flow, to come
constexpr size_t kMostEarlyCuts = 65536;
int64_t Unwrap(int64_t near, uint32_t psn) {
  return near + PsnDistance(static_cast<uint32_t>(near) & k24BitMask, psn);
}

// Of the PSNs skipped by an incarnation before, some may come in this one.
uint64_t Positive(uint64_t unseen) { return static_cast<int64_t>(unseen) < 0 ? 0 : unseen; }

// `streams` are in the order of their taps.
template <typename Visit>
void ForEachTapPair(const std::vector<FlowStream>& streams, Visit visit) {
  for (size_t i = 0; i < streams.size(); ++i) {
    if (i > 0 && streams[i].tap == streams[i - 1].tap) continue;
    for (size_t j = 0; j < i; ++j) {
      if (j > 0 && streams[j].tap == streams[j - 1].tap) continue;
      if (streams[j].tap != streams[i].tap) visit(std::pair(streams[j].tap, streams[i].tap));
    }
  }
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
  ForEachTapPair(streams, [&](const auto& taps) { votes_[taps].sum += vote; });
}

bool TapVotes::ForParts(const std::vector<FlowStream>& streams) const {
  bool all = true;
  ForEachTapPair(streams, [&](const auto& taps) {
    const auto at = votes_.find(taps);
    all = all && at != votes_.end() && at->second.sum > 0;
  });
  return all;
}

bool TapVotes::TakeChange() {
  bool changed = false;
  for (auto& [taps, votes] : votes_) {
    changed |= votes.was_for_parts != (votes.sum > 0);
    votes.was_for_parts = votes.sum > 0;
  }
  return changed;
}

void TrafficTotals::Approach(const FlowRecord& record) const {
  const uint32_t guess = hints_.Guess(record.hint);
  if (guess < streams_.size()) PrefetchLines<sizeof(Stream) / 64>(&streams_[guess]);
}

void TrafficTotals::Add(const FlowRecord& record) {
  Stream& stream = streams_[FindOrAdd(record)];
  Flow& flow = flows_[stream.flow];
  MarkChanged(stream.flow);
  while (!flow.cuts.empty() && record.last_seen >= flow.cuts.front()) EndIncarnation(stream.flow);
  if (record.interval_start < flow.interval) return AddLate(stream, flow, record);
  if (record.interval_start > flow.interval) {
    CloseInterval(flow);
    flow.interval = record.interval_start;
  }
  Follow(stream, flow, record);
  if (!stream.open) {
    stream.open = true;
    stream.open_counts = CountsOf(record);
  } else {
    stream.open_counts += CountsOf(record);
  }
}

void TrafficTotals::AddLate(Stream& stream, Flow& flow, const FlowRecord& record) {
  ++statistics_.late_records;
  if (record.last_seen < flow.begins) return;  // of an incarnation whose sum is made
  stream.counts += CountsOf(record);
}

// Which part of the sequence the stream has shown.
void TrafficTotals::Follow(Stream& stream, Flow& flow, const FlowRecord& record) {
  const uint32_t responses =
      record.class_packets[static_cast<size_t>(OperationClass::kReadResponse)];
  for (size_t space = 0; space < 2; ++space) {
    const PsnCounts& psns = space == 0 ? record.requests : record.responses;
    if (space == 0 ? !psns.valid : responses == 0) continue;
    PsnSpan& shown = flow.shown[space];
    const int64_t last = shown.valid ? Unwrap(shown.last, psns.last_psn) : psns.last_psn;
    // Records say where the requests begin, but not the responses.
    const int64_t first =
        space == 0 ? Unwrap(last, record.first_request_psn) : last - (int64_t{responses} - 1);
    const PsnSpan& before = stream.spans[space];
    stream.open_skipped += int64_t{psns.unseen};
    // A long gap looks like a restart, and then is not in `unseen`.
    if (psns.restarts > 0 && before.valid) {
      stream.open_skipped += std::max<int64_t>(0, first - before.last - 1);
    }
    stream.open_spans[space].Extend(first, last);
    shown.Extend(first, last);
  }
}

// The best views of all intervals up to the open one.
FlowCounts TrafficTotals::ByInterval(const Flow& flow, bool& copies) const {
  std::vector<CopyView> views;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    const Stream& stream = streams_[i];
    if (!stream.open) continue;
    views.push_back({.tap = stream.tap,
                     .counts = &stream.open_counts,
                     .spans = stream.open_spans,
                     .skipped = stream.open_skipped,
                     .starts = !stream.spans[0].valid && !stream.spans[1].valid});
  }
  FlowCounts counts = *flow.joined;
  if (!views.empty()) counts += CountsOfInterval(views, copies);
  return counts;
}

void TrafficTotals::CloseInterval(Flow& flow) {
  if (flow.stream_count > 1) *flow.joined = ByInterval(flow, flow.has_copies);
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    Stream& stream = streams_[i];
    if (!stream.open) continue;
    stream.open = false;
    stream.counts += stream.open_counts;
    for (size_t space = 0; space < 2; ++space) {
      stream.spans[space].Extend(stream.open_spans[space]);
    }
    stream.open_spans = {};
    stream.skipped += std::exchange(stream.open_skipped, 0);
  }
}

void TrafficTotals::Cut(const FlowKey& key, Timestamp time) {
  const auto at = index_.find(key);
  // Those of flows that never send a record would stay for ever.
  if (at == index_.end() && early_cuts_.size() >= kMostEarlyCuts) early_cuts_.clear();
  std::vector<Timestamp>& cuts = at == index_.end() ? early_cuts_[key] : flows_[at->second].cuts;
  if (std::find(cuts.begin(), cuts.end(), time) != cuts.end()) return;
  if (cuts.size() >= kMostCuts) {
    ++statistics_.incarnations_merged;
    return;
  }
  cuts.insert(std::upper_bound(cuts.begin(), cuts.end(), time), time);
  if (at != index_.end()) MarkChanged(at->second);
}

void TrafficTotals::MarkChanged(uint32_t flow) {
  if (!std::exchange(flows_[flow].changed, true)) changed_.push_back(flow);
}

void TrafficTotals::EndIncarnation(uint32_t number) {
  Flow& flow = flows_[number];
  CloseInterval(flow);
  const FlowCounts counts = PresentOf(flow).counts;
  flow.begins = flow.cuts.front();
  flow.cuts.erase(flow.cuts.begin());
  flow.shown = {};
  flow.has_copies = false;
  if (flow.joined != nullptr) *flow.joined = {};
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    streams_[i].spans = {};
    streams_[i].skipped = 0;
    streams_[i].counts = {};
  }
  if (counts.packets == 0) return;
  flow.ended.push_back({.until = flow.begins, .counts = counts});
  ended_order_.push_back(number);
  if (ended_order_.size() <= limits_.closed_incarnations) return;
  Flow& oldest = flows_[ended_order_.front()];
  MarkChanged(ended_order_.front());
  ended_order_.pop_front();
  if (oldest.ended.empty()) return;  // given up since
  if (oldest.merged == nullptr) oldest.merged = std::make_unique<FlowCounts>();
  *oldest.merged += oldest.ended.front().counts;
  oldest.ended.erase(oldest.ended.begin());
  ++statistics_.incarnations_merged;
}

uint32_t TrafficTotals::FindOrAdd(const FlowRecord& record) {
  const auto is_it = [&](uint32_t number) {
    const Stream& stream = streams_[number];
    return stream.tap == record.tap && stream.ttl == record.ttl && stream.key == record.flow &&
           stream.flow != kNone;
  };
  const uint32_t guess = hints_.Guess(record.hint);
  if (guess < streams_.size() && is_it(guess)) return guess;
  const auto [at, is_new] = index_.try_emplace(record.flow, kNone);
  if (is_new) {
    if (free_flows_.empty()) {
      at->second = static_cast<uint32_t>(flows_.size());
      flows_.emplace_back();
    } else {
      at->second = free_flows_.back();
      free_flows_.pop_back();
    }
    flows_[at->second].key = record.flow;
    flows_[at->second].interval = record.interval_start;
    if (const auto early = early_cuts_.find(record.flow); early != early_cuts_.end()) {
      flows_[at->second].cuts = std::move(early->second);
      early_cuts_.erase(early);
    }
  }
  const uint32_t flow = at->second;
  uint32_t number = flows_[flow].first_stream;
  while (number != kNone && !is_it(number)) number = streams_[number].next;
  if (number == kNone) number = AddStream(flow, record);
  hints_.Remember(record.hint, number);
  return number;
}

uint32_t TrafficTotals::AddStream(uint32_t flow_number, const FlowRecord& record) {
  const uint32_t number = TakeStream(flow_number);
  Flow& flow = flows_[flow_number];
  // So far the only stream was the best one.
  if (flow.stream_count == 1) {
    flow.joined = std::make_unique<FlowCounts>(streams_[flow.first_stream].counts);
  }
  Stream& stream = streams_[number];
  stream = {};
  stream.key = record.flow;
  stream.tap = record.tap;
  stream.ttl = record.ttl;
  stream.flow = flow_number;
  stream.next = std::exchange(flow.first_stream, number);
  ++flow.stream_count;
  return number;
}

uint32_t TrafficTotals::TakeStream(uint32_t kept_flow) {
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
  if (free_streams_.empty()) {  // with one flow that has them all, one more is the lesser evil
    streams_.emplace_back();
    return static_cast<uint32_t>(streams_.size() - 1);
  }
  const uint32_t number = free_streams_.back();
  free_streams_.pop_back();
  return number;
}

void TrafficTotals::Evict(uint32_t number) {
  Flow& flow = flows_[number];
  statistics_.evicted += SummaryOf(flow, PresentOf(flow)).total;
  ++statistics_.flows_evicted;
  TakeVoteBack(flow);
  gone_.push_back(flow.key);
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    streams_[i].flow = kNone;
    free_streams_.push_back(i);
  }
  index_.erase(flow.key);
  flow = {};
  free_flows_.push_back(number);
}

// What the present incarnation carried.
JoinedView TrafficTotals::PresentOf(const Flow& flow) const {
  std::vector<FlowCounts> counts;
  std::vector<CopyView> views;
  counts.reserve(flow.stream_count);
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    const Stream& stream = streams_[i];
    FlowCounts sum = stream.counts;
    if (stream.open) sum += stream.open_counts;
    if (flow.stream_count == 1) {
      sum.unseen = Positive(sum.unseen);
      return {.counts = sum};
    }
    if (sum.packets == 0) continue;
    counts.push_back(sum);
    views.push_back({.tap = stream.tap,
                     .counts = &counts.back(),
                     .spans = stream.spans,
                     .skipped = stream.skipped + stream.open_skipped});
    for (size_t space = 0; space < 2; ++space) {
      views.back().spans[space].Extend(stream.open_spans[space]);
    }
  }
  if (views.empty()) return {};
  bool copies = flow.has_copies;
  const FlowCounts by_interval = ByInterval(flow, copies);
  JoinedView present = Join(views, by_interval, copies);
  present.counts.unseen = Positive(present.counts.unseen);
  return present;
}

FlowCounts TrafficTotals::SumOfStreams(const Flow& flow) const {
  FlowCounts sum;
  for (uint32_t i = flow.first_stream; i != kNone; i = streams_[i].next) {
    sum += streams_[i].counts;
    if (streams_[i].open) sum += streams_[i].open_counts;
  }
  sum.unseen = Positive(sum.unseen);
  return sum;
}

FlowSummary TrafficTotals::SummaryOf(const Flow& flow, const JoinedView& present) const {
  FlowSummary summary{.flow = flow.key, .agreement = present.agreement};
  if (flow.merged != nullptr) summary.total = *flow.merged;
  for (const FlowIncarnation& incarnation : flow.ended) summary.total += incarnation.counts;
  summary.total += present.counts;
  if (!flow.ended.empty() || flow.merged != nullptr || !flow.cuts.empty()) {
    summary.incarnations = flow.ended;
    std::optional<Timestamp> until;
    if (!flow.cuts.empty()) until = flow.cuts.front();
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

// By the streams that it had in its last answer.
void TrafficTotals::TakeVoteBack(Flow& flow) {
  if (flow.vote == 0) return;
  votes_.Add(summaries_->Find(flow.key, &FlowSummary::flow)->streams, -flow.vote);
  flow.vote = 0;
}

// Before the votes are counted: what the flow says of itself.
FlowSummary TrafficTotals::Summarize(Flow& flow) {
  TakeVoteBack(flow);
  const JoinedView present = PresentOf(flow);
  FlowSummary summary = SummaryOf(flow, present);
  const bool one_tap = summary.streams.front().tap == summary.streams.back().tap;
  flow.untold = !one_tap && !present.told;  // ACKs and CNPs have no sequence
  if (!one_tap && present.told) {
    flow.vote = present.parts ? 1 : -1;
    votes_.Add(summary.streams, flow.vote);
  }
  return summary;
}

std::shared_ptr<const FlowSummaries> TrafficTotals::Summaries() {
  if (changed_.empty() && gone_.empty()) return summaries_;
  const auto by_key = [this](uint32_t a, uint32_t b) { return flows_[a].key < flows_[b].key; };
  // A place that was freed may have another flow by now, and be here twice.
  const auto order = [&](std::vector<uint32_t>& flows) {
    std::erase_if(flows, [this](uint32_t i) { return flows_[i].first_stream == kNone; });
    std::ranges::sort(flows, by_key);
    flows.erase(std::ranges::unique(flows).begin(), flows.end());
  };
  order(changed_);
  std::vector<FlowSummary> fresh;
  fresh.reserve(changed_.size());
  for (const uint32_t i : changed_) fresh.push_back(Summarize(flows_[i]));
  if (votes_.TakeChange()) {
    for (uint32_t i = 0; i < flows_.size(); ++i) {
      if (flows_[i].untold) MarkChanged(i);
    }
    order(changed_);
    std::vector<FlowSummary> all;
    size_t next = 0;
    for (const uint32_t i : changed_) {
      const bool is_there = next < fresh.size() && fresh[next].flow == flows_[i].key;
      all.push_back(is_there ? std::move(fresh[next++]) : Summarize(flows_[i]));
    }
    fresh = std::move(all);
  }
  std::vector<FlowKey> keys = std::exchange(gone_, {});
  for (size_t i = 0; i < changed_.size(); ++i) {
    Flow& flow = flows_[changed_[i]];
    flow.changed = false;
    keys.push_back(flow.key);
    if (!flow.untold || !votes_.ForParts(fresh[i].streams)) continue;
    fresh[i] = SummaryOf(flow, {.counts = SumOfStreams(flow), .agreement = TapAgreement::kJoined});
  }
  changed_.clear();
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  summaries_ = std::make_shared<const FlowSummaries>(
      summaries_->With(keys, std::move(fresh), &FlowSummary::flow));
  return summaries_;
}

}  // namespace rocescope

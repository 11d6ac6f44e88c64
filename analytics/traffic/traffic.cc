// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/traffic.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace rocescope {
namespace {

template <typename T, typename U, size_t N>
void AddEach(std::array<T, N>& to, const std::array<U, N>& from) {
  for (size_t i = 0; i < N; ++i) {
    if (from[i] != 0) to[i] += from[i];  // most are zero: their cache line stays untouched
  }
}

void AddTo(DurationSummary& to, const DurationSummary& from) {
  if (from.count == 0) return;
  to.minimum = to.count == 0 ? from.minimum : std::min(to.minimum, from.minimum);
  to.maximum = std::max(to.maximum, from.maximum);
  to.sum += from.sum;
  to.count += from.count;
}

void AddTo(FlowStream& stream, const FlowRecord& record) {
  stream.dscp_changed |= record.dscp_changed || (stream.packets > 0 && stream.dscp != record.dscp);
  stream.dscp = record.dscp;
  stream.began |= record.began;
  stream.last_credits = record.last_credits;
  stream.udp_source_port_changes += record.udp_source_port_changes;
  stream.udp_source_port = record.udp_source_port;
  if (record.last_rkey != 0) stream.last_rkey = record.last_rkey;
  stream.first_seen =
      stream.packets == 0 ? record.first_seen : std::min(stream.first_seen, record.first_seen);
  stream.last_seen = std::max(stream.last_seen, record.last_seen);
  stream.packets += record.packets;
  stream.bytes += record.bytes;
  stream.payload_bytes += record.payload_bytes;
  AddEach(stream.class_packets, record.class_packets);
  stream.messages += record.messages;
  stream.control_messages += record.control_messages;
  stream.control_bytes += record.control_bytes;
  stream.hop_copies += record.hop_copies;
  AddEach(stream.message_sizes, record.message_sizes);
  for (const PsnCounts* counts : {&record.requests, &record.responses}) {
    if ((counts->unseen | counts->reordered | counts->resent | counts->restarts) == 0) continue;
    stream.unseen += counts->unseen;
    stream.reordered += counts->reordered;
    stream.resent += counts->resent;
    stream.restarts += counts->restarts;
  }
  AddEach(stream.naks, record.naks);
  stream.ce_marked += record.ce_marked;
  AddTo(stream.ack_round_trip, record.ack_round_trip);
  AddTo(stream.message_gap, record.message_gap);
}

// True if `other` has no kind of packet in common with `best`: not copies, but the rest.
bool Completes(const FlowStream& best, const FlowStream& other) {
  if (best.tap != other.tap) return false;
  for (size_t i = 0; i < kOperationClassCount; ++i) {
    if (best.class_packets[i] != 0 && other.class_packets[i] != 0) return false;
  }
  return true;
}

void AddComplement(FlowStream& total, const FlowStream& other) {
  total.first_seen = std::min(total.first_seen, other.first_seen);
  total.last_seen = std::max(total.last_seen, other.last_seen);
  total.packets += other.packets;
  total.bytes += other.bytes;
  total.payload_bytes += other.payload_bytes;
  AddEach(total.class_packets, other.class_packets);
  total.messages += other.messages;
  total.control_messages += other.control_messages;
  total.control_bytes += other.control_bytes;
  total.hop_copies += other.hop_copies;
  AddEach(total.message_sizes, other.message_sizes);
  total.unseen += other.unseen;
  total.reordered += other.reordered;
  total.resent += other.resent;
  total.restarts += other.restarts;
  total.began |= other.began;
  if (other.last_rkey != 0) total.last_rkey = other.last_rkey;
  constexpr auto kAcknowledge = static_cast<size_t>(OperationClass::kAcknowledge);
  if (other.class_packets[kAcknowledge] != 0) total.last_credits = other.last_credits;
  AddEach(total.naks, other.naks);
  total.ce_marked += other.ce_marked;
  AddTo(total.ack_round_trip, other.ack_round_trip);
  AddTo(total.message_gap, other.message_gap);
}

Duration MeanOf(const DurationSummary& summary) {
  return summary.count == 0 ? Duration::zero() : summary.sum / summary.count;
}

// The stream that showed most first copies; of equals, the one that showed most of what happened
// besides, so that the answer does not depend on the order in which captures were named.
bool ShowsLess(const FlowStream& a, const FlowStream& b) {
  const auto rank = [](const FlowStream& s) {
    return std::tuple(s.packets - s.resent - s.hop_copies, s.packets, s.payload_bytes, s.bytes,
                      s.ce_marked);
  };
  return rank(a) < rank(b);
}

FlowStream TotalOf(const std::vector<FlowStream>& streams) {
  const auto best = std::max_element(streams.begin(), streams.end(), ShowsLess);
  FlowStream total = *best;
  for (const FlowStream& stream : streams) {
    if (&stream != &*best && Completes(total, stream)) AddComplement(total, stream);
  }
  for (const FlowStream& stream : streams) {
    // A mark that a switch sets stays, so the tap behind it shows the most.
    total.ce_marked = std::max(total.ce_marked, stream.ce_marked);
    // The round trip is what the tap next to the requester sees; others see a part of it.
    if (MeanOf(stream.ack_round_trip) > MeanOf(total.ack_round_trip)) {
      total.ack_round_trip = stream.ack_round_trip;
    }
  }
  return total;
}

}  // namespace

void TrafficTotals::Add(const FlowRecord& record) { AddTo(streams_[FindOrAdd(record)], record); }

uint32_t TrafficTotals::FindOrAdd(const FlowRecord& record) {
  if (record.hint < by_hint_.size()) {
    const uint32_t number = by_hint_[record.hint];
    if (number < streams_.size() && flows_[number] == record.flow &&
        streams_[number].tap == record.tap && streams_[number].ttl == record.ttl) {
      return number;
    }
  }
  const auto [at, inserted] =
      index_.try_emplace(StreamKey{.flow = record.flow, .tap = record.tap, .ttl = record.ttl},
                         static_cast<uint32_t>(streams_.size()));
  if (inserted) {
    flows_.push_back(record.flow);
    streams_.push_back({.tap = record.tap, .ttl = record.ttl});
  }
  constexpr uint32_t kMostHints = 1 << 20;
  if (record.hint < kMostHints) {
    if (record.hint >= by_hint_.size()) {
      by_hint_.resize(record.hint + record.hint / 2 + 1, UINT32_MAX);
    }
    by_hint_[record.hint] = at->second;
  }
  return at->second;
}

std::vector<FlowSummary> TrafficTotals::Summaries() const {
  std::vector<uint32_t> order(streams_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    if (flows_[a] != flows_[b]) return flows_[a] < flows_[b];
    if (streams_[a].tap != streams_[b].tap) return streams_[a].tap < streams_[b].tap;
    return streams_[a].ttl > streams_[b].ttl;
  });
  std::vector<FlowSummary> summaries;
  for (const uint32_t i : order) {
    if (summaries.empty() || summaries.back().flow != flows_[i]) {
      summaries.push_back({.flow = flows_[i]});
    }
    summaries.back().streams.push_back(streams_[i]);
  }
  for (FlowSummary& summary : summaries) summary.total = TotalOf(summary.streams);
  return summaries;
}

}  // namespace rocescope

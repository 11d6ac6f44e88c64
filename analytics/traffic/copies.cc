// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/copies.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace rocescope {
namespace {

// Copies of a packet may be on both sides of the start or end of a capture.
constexpr int64_t kSmallDifference = 16;
constexpr int64_t kSmallShare = 64;  // one packet in this many

// Orders views by first copies; ties are resolved by other counts, so that the result does not
// depend on the order of captures.
bool ShowsLess(const CopyView& a, const CopyView& b) {
  const auto rank = [](const FlowCounts& c) {
    return std::tuple(c.FirstCopies(), c.packets, c.payload_bytes, c.bytes, c.ce_marked);
  };
  return rank(*a.counts) < rank(*b.counts);
}

bool HaveNoKindInCommon(const FlowCounts& a, const FlowCounts& b) {
  for (size_t i = 0; i < kOperationClassCount; ++i) {
    if (a.class_packets[i] != 0 && b.class_packets[i] != 0) return false;
  }
  return true;
}

// Other kinds of packets may have other header fields, which is not a change.
void AddOtherKinds(FlowCounts& total, const FlowCounts& other) {
  const FlowCounts kept = total;
  total += other;
  total.ttl = kept.ttl;
  total.dscp = kept.dscp;
  total.dscp_changed = kept.dscp_changed || other.dscp_changed;
  total.udp_source_port = kept.udp_source_port;
}

Duration MeanOf(const DurationSummary& summary) {
  return summary.count == 0 ? Duration::zero() : summary.sum / summary.count;
}

std::vector<CopyView> SequencedOf(std::span<const CopyView> views) {
  std::vector<CopyView> sequenced;
  for (const CopyView& view : views) {
    if (view.counts->SequencedCopies() > 0) sequenced.push_back(view);
  }
  return sequenced;
}

int64_t ShownBy(const FlowCounts& counts) { return static_cast<int64_t>(counts.SequencedCopies()); }

// Whether two of the views show the same packet.
bool ShowTheSame(std::span<const CopyView> views) {
  for (size_t i = 0; i < views.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      for (size_t space = 0; space < 2; ++space) {
        const PsnSpan& a = views[i].spans[space];
        const PsnSpan& b = views[j].spans[space];
        if (a.IsEmpty() || b.IsEmpty()) continue;
        // The start of a view's responses is only an estimate.
        if (a.last == b.last || (space == 0 && a.first == b.first)) return true;
      }
    }
  }
  return false;
}

// Returns an upper bound of the sequenced packets in the common span that `view` did not show.
int64_t RoomIn(const CopyView& view, std::span<const CopyView> views) {
  int64_t room = std::max<int64_t>(0, view.skipped);
  for (size_t space = 0; space < 2; ++space) {
    PsnSpan all;
    for (const CopyView& other : views) all.Extend(other.spans[space]);
    if (all.IsEmpty()) continue;
    const PsnSpan& own = view.spans[space];
    if (own.IsEmpty()) {
      room += all.last - all.first + 1;
      continue;
    }
    room += all.last - own.last;
    if (view.starts) room += own.first - all.first;
  }
  return room;
}

// Whether no packet is in several views, according to the sequence numbers.
bool FitTogether(std::span<const CopyView> views) {
  int64_t shown = 0;
  for (const CopyView& view : views) shown += ShownBy(*view.counts);
  return std::all_of(views.begin(), views.end(), [&](const CopyView& view) {
    return shown - ShownBy(*view.counts) <= RoomIn(view, views);
  });
}

// Whether one tap shows a complete sequence while another tap showed more packets.
bool Contradict(std::span<const CopyView> views, int64_t most) {
  const int64_t tolerated = kSmallDifference + most / kSmallShare;
  return std::any_of(views.begin(), views.end(), [&](const CopyView& view) {
    return ShownBy(*view.counts) + RoomIn(view, views) + tolerated < most;
  });
}

}  // namespace

FlowCounts BestOf(std::span<const CopyView> views) {
  const CopyView& best = *std::max_element(views.begin(), views.end(), ShowsLess);
  FlowCounts total = *best.counts;
  for (const CopyView& view : views) {
    if (&view != &best && view.tap == best.tap && HaveNoKindInCommon(total, *view.counts)) {
      AddOtherKinds(total, *view.counts);
    }
  }
  for (const CopyView& view : views) {
    // A CE mark is never removed, so the last tap on the path shows most of them.
    total.ce_marked = std::max(total.ce_marked, view.counts->ce_marked);
    // The tap next to the requester sees the whole round trip; others see a part of it.
    if (MeanOf(view.counts->ack_round_trip) > MeanOf(total.ack_round_trip)) {
      total.ack_round_trip = view.counts->ack_round_trip;
    }
  }
  return total;
}

FlowCounts SumOf(std::span<const CopyView> views) {
  const CopyView& best = *std::max_element(views.begin(), views.end(), ShowsLess);
  FlowCounts total = *best.counts;
  for (const CopyView& view : views) {
    if (&view != &best) AddOtherKinds(total, *view.counts);
  }
  return total;
}

FlowCounts CountsOfInterval(std::span<const CopyView> views, bool& copies) {
  const std::vector<CopyView> sequenced = SequencedOf(views);
  const bool same = ShowTheSame(sequenced);
  copies |= same;
  return sequenced.size() > 1 && !same && FitTogether(sequenced) ? SumOf(views) : BestOf(views);
}

JoinedView Join(std::span<const CopyView> views, const FlowCounts& by_interval, bool copies) {
  const std::vector<CopyView> sequenced = SequencedOf(views);
  if (sequenced.size() < 2) return {.counts = BestOf(views)};
  if (!copies && !ShowTheSame(sequenced) && FitTogether(sequenced)) {
    return {
        .counts = SumOf(views), .agreement = TapAgreement::kJoined, .told = true, .parts = true};
  }
  JoinedView joined{.counts = BestOf(views), .told = true};
  const int64_t shown = ShownBy(joined.counts);
  const CopyView& best = *std::max_element(sequenced.begin(), sequenced.end(), ShowsLess);
  const int64_t by_intervals = ShownBy(by_interval);
  if (by_intervals > shown && by_intervals <= shown + RoomIn(best, sequenced)) {
    joined.counts = by_interval;
    joined.agreement = TapAgreement::kJoined;
  } else if (Contradict(sequenced, shown)) {
    joined.agreement = TapAgreement::kDisagree;
  }
  return joined;
}

}  // namespace rocescope

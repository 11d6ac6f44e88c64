// SPDX-License-Identifier: BSD-3-Clause
// Decides whether several views of one flow, from several taps or with several TTLs at one tap, are
// copies of the same packets (count once) or separate parts (add up). Sequence numbers decide,
// because clocks of different taps differ: parts fit into each other's gaps and never contain the
// same packet; copies do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "analytics/traffic/flow_counts.h"

namespace rocescope {

// Positions are PSNs extended so that they do not wrap.
struct PsnSpan {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // less than all positions

  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = kNone;

  bool IsEmpty() const { return last == kNone; }
  void Extend(int64_t from, int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
  void Extend(const PsnSpan& other) { Extend(other.first, other.last); }
};
using PsnSpans = std::array<PsnSpan, 2>;  // requests, responses

// What one tap showed of a flow with one TTL during the time considered.
struct CopyView {
  TapId tap = 0;
  const FlowCounts* counts = nullptr;
  PsnSpans spans;
  int64_t skipped = 0;  // PSNs missing within its spans or directly before them
  bool starts = true;   // this view showed nothing of the sequence earlier
};

// Returns the view with most first copies, plus other kinds of packets from the same tap (a NIC may
// send CNPs and ACKs with a different TTL). CE marks come from the view with most of them.
FlowCounts BestOf(std::span<const CopyView> views);

FlowCounts SumOf(std::span<const CopyView> views);

// Returns the counts of one interval: SumOf(views) if the views show different parts of the
// traffic, BestOf(views) if they show copies of it. Sets `copies` if two views showed the same
// packet.
FlowCounts CountsOfInterval(std::span<const CopyView> views, bool& copies);

enum class TapAgreement : uint8_t {
  kAgree,     // one tap's view is complete according to the sequence numbers
  kJoined,    // no tap saw everything: the counts are combined from several taps
  kDisagree,  // a tap showed fewer packets than another although its own sequence has no gaps
};

struct JoinedView {
  FlowCounts counts;
  TapAgreement agreement = TapAgreement::kAgree;
  // Several views contain sequence numbers, so it is known whether they are parts or copies.
  bool told = false;
  bool parts = false;  // each packet was in exactly one view
};

// Returns the counts over the time covered by `views`. `by_interval` is the sum of
// CountsOfInterval, and `copies` whether any of them found copies. That sum handles taps that come
// and go and lossy mirrors, but may count a packet in two intervals if clocks differ. It is
// therefore used only where the best view has gaps, and at most up to the size of these gaps.
JoinedView Join(std::span<const CopyView> views, const FlowCounts& by_interval, bool copies);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Several taps, or one tap and several TTLs, show one flow: are they copies of the same packets, to
// be counted once, or does each show a part, to be added up? Sequence numbers tell, since clocks of
// different taps differ: the parts of a whole fit into each other's gaps and never show the same
// packet, copies do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "analytics/traffic/flow_counts.h"

namespace rocescope {

// Positions are PSNs that do not wrap.
struct PsnSpan {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // below all positions

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

// What one tap showed of a flow with one TTL, over the time in question.
struct CopyView {
  TapId tap = 0;
  const FlowCounts* counts = nullptr;
  PsnSpans spans;
  int64_t skipped = 0;  // PSNs inside its spans, or right before them, that it did not show
  bool starts = true;   // it showed nothing of the sequence before
};

// The view with most first copies, with those of the same tap added that have other kinds of
// packets (a NIC may send CNPs and ACKs with another TTL); CE marks of the view with most of them.
FlowCounts BestOf(std::span<const CopyView> views);

FlowCounts SumOf(std::span<const CopyView> views);

// One interval's packets: the sum of views that show parts, the best of views that show copies.
// `copies` becomes true if two of them showed the same packet.
FlowCounts CountsOfInterval(std::span<const CopyView> views, bool& copies);

enum class TapAgreement : uint8_t {
  kAgree,     // one tap's view says it all, as far as sequence numbers tell
  kJoined,    // no tap showed all: the counts are put together from several
  kDisagree,  // a tap showed fewer packets though its own sequence has no gaps for the rest
};

struct JoinedView {
  FlowCounts counts;
  TapAgreement agreement = TapAgreement::kAgree;
  // Several views have sequence numbers, so it is known whether they are parts or copies.
  bool told = false;
  bool parts = false;  // each packet was in one view alone
};

// All packets of the time that `views` cover. `by_interval` is the sum of CountsOfInterval, and
// `copies` whether any of them found some. That sum knows of taps that come and go and of mirrors
// that lose; but where clocks differ it may have a packet in two intervals. So it is believed only
// where the best view has gaps, and not beyond them.
JoinedView Join(std::span<const CopyView> views, const FlowCounts& by_interval, bool copies);

}  // namespace rocescope

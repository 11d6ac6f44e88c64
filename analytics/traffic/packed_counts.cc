// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/packed_counts.h"

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace rocescope {
namespace {

// The words are the sums in the order of VisitSums, followed by the two duration summaries. A
// summary is stored completely or not at all.
constexpr size_t kSums = kOperationClassCount + kMessageSizeBins + kNakKindCount + 9;
constexpr size_t kSummaryWords = 4;
constexpr uint64_t kSumBits = (uint64_t{1} << kSums) - 1;
constexpr uint64_t kSummaryBits = (uint64_t{1} << kSummaryWords) - 1;
constexpr uint64_t kAckRoundTripBits = kSummaryBits << kSums;
constexpr uint64_t kMessageGapBits = kAckRoundTripBits << kSummaryWords;
static_assert(kSums + 2 * kSummaryWords <= 64);

using Sums = std::array<uint64_t, kSums>;

// Calls `visit` with each sum of `counts`, const or not.
template <typename Counts, typename Visit>
void VisitSums(Counts& counts, Visit visit) {
  for (auto& packets : counts.class_packets) visit(packets);
  for (auto& messages : counts.message_sizes) visit(messages);
  for (auto& naks : counts.naks) visit(naks);
  visit(counts.messages);
  visit(counts.control_messages);
  visit(counts.control_bytes);
  visit(counts.hop_copies);
  visit(counts.missing);
  visit(counts.reordered);
  visit(counts.retransmitted);
  visit(counts.restarts);
  visit(counts.ce_marked);
}

Sums SumsOf(const FlowCounts& counts) {
  Sums sums;
  size_t i = 0;
  VisitSums(counts, [&](uint64_t sum) { sums[i++] = sum; });
  return sums;
}

DurationSummary ReadSummary(const uint64_t* words) {
  return {.count = static_cast<uint32_t>(words[0]),
          .sum = Duration(static_cast<int64_t>(words[1])),
          .minimum = Duration(static_cast<int64_t>(words[2])),
          .maximum = Duration(static_cast<int64_t>(words[3]))};
}

void WriteSummary(const DurationSummary& summary, uint64_t* words) {
  words[0] = summary.count;
  words[1] = static_cast<uint64_t>(summary.sum.count());
  words[2] = static_cast<uint64_t>(summary.minimum.count());
  words[3] = static_cast<uint64_t>(summary.maximum.count());
}

void AddToSummary(uint64_t* words, const DurationSummary& later) {
  DurationSummary summary = ReadSummary(words);
  AddTo(summary, later);
  WriteSummary(summary, words);
}

}  // namespace

PackedCounts& PackedCounts::operator+=(const FlowCounts& later) {
  if (later.packets == 0) return *this;
  outline_.Add(later, later.ClassPackets(OperationClass::kAcknowledge) != 0);
  const Sums sums = SumsOf(later);
  uint64_t needed = 0;
  for (size_t i = 0; i < kSums; ++i) needed |= uint64_t{sums[i] != 0} << i;
  if (later.ack_round_trip.count > 0) needed |= kAckRoundTripBits;
  if (later.message_gap.count > 0) needed |= kMessageGapBits;
  if ((needed & ~present_) != 0) MakeRoom(needed);

  uint64_t* word = words_.get();
  for (uint64_t rest = present_ & kSumBits; rest != 0; rest &= rest - 1) {
    *word++ += sums[static_cast<size_t>(std::countr_zero(rest))];
  }
  if ((present_ & kAckRoundTripBits) != 0) {
    AddToSummary(word, later.ack_round_trip);
    word += kSummaryWords;
  }
  if ((present_ & kMessageGapBits) != 0) AddToSummary(word, later.message_gap);
  return *this;
}

void PackedCounts::MakeRoom(uint64_t needed) {
  const uint64_t before = std::exchange(present_, present_ | needed);
  const auto old = std::exchange(
      words_, std::make_unique<uint64_t[]>(static_cast<size_t>(std::popcount(present_))));
  const uint64_t* from = old.get();
  uint64_t* to = words_.get();
  for (uint64_t rest = present_; rest != 0; rest &= rest - 1, ++to) {
    const uint64_t bit = rest & -rest;
    if ((before & bit) != 0) *to = *from++;
  }
}

FlowCounts PackedCounts::Unpacked() const {
  FlowCounts counts;
  static_cast<FlowOutline&>(counts) = outline_;
  const uint64_t* word = words_.get();
  uint64_t bit = 1;
  VisitSums(counts, [&](uint64_t& sum) {
    if ((present_ & bit) != 0) sum = *word++;
    bit <<= 1;
  });
  if ((present_ & kAckRoundTripBits) != 0) {
    counts.ack_round_trip = ReadSummary(word);
    word += kSummaryWords;
  }
  if ((present_ & kMessageGapBits) != 0) counts.message_gap = ReadSummary(word);
  return counts;
}

}  // namespace rocescope

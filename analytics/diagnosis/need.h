// SPDX-License-Identifier: BSD-3-Clause
// What it takes for a fault of a kind to show: the coverage (coverage.h) says which of these needs
// are met, and reports say of the others who could meet them.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analytics/diagnosis/finding_kind.h"

namespace rocescope {

// need, and in the words of those who can provide it; needs that the same people meet in the same
// way share their words.
#define ROCESCOPE_NEEDS(ROW)                                                     \
  ROW(LinkStates, "counters of switches or of NICs")                             \
  ROW(LinkSpeeds, "counters of switches or of NICs")                             \
  ROW(FrameErrors, "counters of switches or of NICs")                            \
  ROW(LinkSums, "counters of both ends of links, read at one moment")            \
  ROW(SwitchSums, "all of a switch's counters, read at once, with its queues")   \
  ROW(MtuDrops, "counters of switches")                                          \
  ROW(Marks, "counters of switches, with how full queues and buffers are")       \
  ROW(EarlyPauses, "counters of switches, with how full queues and buffers are") \
  ROW(NicPauses, "counters of PFC, of switches or of NICs")                      \
  ROW(SlowAnswers, "counters of PFC, of switches or of NICs")                    \
  ROW(LoopPauses, "counters of PFC, of switches or of NICs")                     \
  ROW(Damage, "counters of NICs, with the ways of flows (mirrors, INT, sFlow)")  \
  ROW(Ways, "the ways of flows (mirrors, INT, sFlow), with counters")            \
  ROW(Senders, "mirrored packets, with counters of switches")                    \
  ROW(Delays, "mirrors of several switches, with counters")                      \
  ROW(NoticeDelays, "mirrors of several switches, with counters")                \
  ROW(Cables, "mirrors of several switches, or counters of both ends")           \
  ROW(GpuClocks, "GPUs' clocks and memory, or mirrors of iterations")

enum class Need : uint8_t {
#define ROW(id, words) k##id,
  ROCESCOPE_NEEDS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kNeedCount = static_cast<size_t>(Need::kCount);

inline constexpr std::array<std::string_view, kNeedCount> kNeedWords = {
#define ROW(id, words) words,
    ROCESCOPE_NEEDS(ROW)
#undef ROW
};

constexpr std::string_view WordsOf(Need need) { return kNeedWords[static_cast<size_t>(need)]; }

class Needs {
 public:
  void Meet(Need need, bool met = true) {
    if (met) met_.set(static_cast<size_t>(need));
  }
  void Withdraw(Need need) { met_.reset(static_cast<size_t>(need)); }
  bool AreMet(Need need) const { return met_.test(static_cast<size_t>(need)); }

 private:
  std::bitset<kNeedCount> met_;
};

struct KindNeed {
  FindingKind kind;
  Need need;
  std::string_view several;  // the name of several such faults
};

// By kind.
inline constexpr std::array<KindNeed, kFindingKinds> kKindNeeds = {{
    {FindingKind::kLinkDown, Need::kLinkStates, "links that are down"},
    {FindingKind::kFlap, Need::kLinkStates, "links that flap"},
    {FindingKind::kDegradedRate, Need::kLinkSpeeds, "links at a lower speed"},
    {FindingKind::kAddedLatency, Need::kDelays, "links that take longer"},
    {FindingKind::kGrayLoss, Need::kLinkSums, "links that lose packets silently"},
    {FindingKind::kBitErrors, Need::kFrameErrors, "bit errors"},
    {FindingKind::kCorruption, Need::kDamage, "switches that damage packets"},
    {FindingKind::kPolarisation, Need::kPaths, "hashes that spread too little"},
    {FindingKind::kBlackhole, Need::kSwitchSums, "destinations forwarded to nowhere"},
    {FindingKind::kSwitchCrash, Need::kLinkStates, "switches that are gone"},
    {FindingKind::kIncast, Need::kSenders, "incast"},
    {FindingKind::kSlowReceiver, Need::kSlowAnswers, "receivers that pause"},
    {FindingKind::kPfcStorm, Need::kNicPauses, "PFC storms"},
    {FindingKind::kMisconfiguredEcn, Need::kMarks, "wrong ECN thresholds"},
    {FindingKind::kMisconfiguredAlpha, Need::kEarlyPauses, "wrong buffer thresholds"},
    {FindingKind::kStraggler, Need::kGpuClocks, "GPUs that are slower than their peers"},
    {FindingKind::kNoisyNeighbour, Need::kSenders, "noisy neighbours"},
    {FindingKind::kNicCrash, Need::kLinkStates, "NICs that are gone"},
    {FindingKind::kMtuMismatch, Need::kMtuDrops, "a wrong MTU"},
    {FindingKind::kLostCnps, Need::kSwitchSums, "lost congestion notifications"},
    {FindingKind::kDeprioritisedCnps, Need::kNoticeDelays, "congestion notifications behind data"},
    {FindingKind::kPfcDeadlock, Need::kLoopPauses, "PFC deadlocks"},
    {FindingKind::kSwappedCables, Need::kCables, "swapped cables"},
}};
static_assert([] {
  for (size_t i = 0; i < kFindingKinds; ++i) {
    if (kKindNeeds[i].kind != static_cast<FindingKind>(i) || kKindNeeds[i].several.empty()) {
      return false;
    }
  }
  return true;
}());

constexpr const KindNeed& NeedOf(FindingKind kind) { return kKindNeeds[static_cast<size_t>(kind)]; }

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// All atomics are relaxed: each word is self-contained, and a slightly old count only delays the
// change of k slightly.
#include "dataplane/flow/observation_rate.h"

#include <algorithm>

namespace rocescope {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr uint64_t WordOf(int64_t epoch, uint64_t count) {
  return static_cast<uint64_t>(epoch) << 32 | std::min<uint64_t>(count, UINT32_MAX);
}
constexpr uint64_t CountIn(uint64_t word) { return word & UINT32_MAX; }
// Number of epochs that `word` is ahead of `epoch`.
constexpr int32_t Ahead(uint64_t word, int64_t epoch) {
  return static_cast<int32_t>(static_cast<uint32_t>(word >> 32) - static_cast<uint32_t>(epoch));
}

constexpr int kExponentBits = 8;
constexpr uint64_t DecisionWord(int64_t epoch, uint8_t exponent) {
  return static_cast<uint64_t>(epoch) << kExponentBits | exponent;
}
// An epoch that never occurs: 2^55 epochs before 1970, each at least a millisecond long.
constexpr uint64_t kNoDecision = DecisionWord(-(int64_t{1} << 55), 0);
constexpr uint8_t ExponentIn(uint64_t decision) {
  return std::min(static_cast<uint8_t>(decision), kMaximumObservationExponent);
}
constexpr bool IsOf(uint64_t decision, int64_t epoch) {
  return decision >> kExponentBits == DecisionWord(epoch, 0) >> kExponentBits;
}

}  // namespace

ObservationRate::ObservationRate(Options options)
    : options_{
          .chosen_per_interval = options.chosen_per_interval,
          .minimum_exponent = std::min(options.minimum_exponent, kMaximumObservationExponent)} {
  for (std::atomic<uint64_t>& decision : decisions_) decision.store(kNoDecision, kRelaxed);
}

ObservationRate::Member ObservationRate::Join() {
  return {*this, std::min(joined_.fetch_add(1, kRelaxed), kMaximumLcores - 1)};
}

uint32_t ObservationRate::Lcores() const {
  return std::min(joined_.load(kRelaxed), kMaximumLcores);
}

uint64_t ObservationRate::TotalIn(int64_t epoch) const {
  uint64_t total = 0;
  for (uint32_t i = 0; i < Lcores(); ++i) {
    const uint64_t current = published_[i].current.load(kRelaxed);
    const uint64_t previous = published_[i].previous.load(kRelaxed);
    if (Ahead(current, epoch) == 0) {
      total += CountIn(current);
    } else if (Ahead(previous, epoch) == 0) {
      total += CountIn(previous);
    }
  }
  return total;
}

// Total of the last epoch before `epoch` in which any lcore had packets.
uint64_t ObservationRate::TotalBefore(int64_t epoch) const {
  int32_t last = INT32_MIN;
  for (uint32_t i = 0; i < Lcores(); ++i) {
    for (const auto* word : {&published_[i].current, &published_[i].previous}) {
      const int32_t ahead = Ahead(word->load(kRelaxed), epoch);
      if (ahead < 0) last = std::max(last, ahead);
    }
  }
  return TotalIn(epoch + last);
}

uint8_t ObservationRate::Member::Enter(int64_t epoch) {
  ObservationRate& rate = *rate_;
  Published& mine = rate.published_[number_];
  if (epoch != epoch_) mine.previous.store(mine.current.load(kRelaxed), kRelaxed);
  epoch_ = epoch;
  std::atomic<uint64_t>& decision = rate.DecisionOf(epoch);
  uint64_t decided = decision.load(kRelaxed);
  while (!IsOf(decided, epoch)) {
    const uint8_t exponent = ExponentFor(rate.TotalBefore(epoch), rate.options_.chosen_per_interval,
                                         rate.options_.minimum_exponent);
    if (decision.compare_exchange_weak(decided, DecisionWord(epoch, exponent), kRelaxed)) {
      decided = DecisionWord(epoch, exponent);
    }
  }
  mine.current.store(WordOf(epoch, 0), kRelaxed);
  return exponent_ = ExponentIn(decided);
}

ObservationRate::Member::Review ObservationRate::Member::Publish(uint64_t eligible) {
  ObservationRate& rate = *rate_;
  rate.published_[number_].current.store(WordOf(epoch_, eligible), kRelaxed);
  std::atomic<uint64_t>& decision = rate.DecisionOf(epoch_);
  uint64_t decided = decision.load(kRelaxed);
  // An lcore that is far from the others keeps its own exponent.
  if (IsOf(decided, epoch_)) exponent_ = ExponentIn(decided);

  const uint32_t chosen = rate.options_.chosen_per_interval;
  const uint64_t total = rate.TotalIn(epoch_);
  while (total >= OverrunOf(exponent_, chosen)) {
    const uint64_t raised = DecisionWord(epoch_, exponent_ + 1);
    if (!IsOf(decided, epoch_) || decision.compare_exchange_weak(decided, raised, kRelaxed)) {
      ++exponent_;
    } else if (IsOf(decided, epoch_)) {
      exponent_ = ExponentIn(decided);
    }
  }
  // If all lcores continue at the same rate, the overrun occurs when each has counted its share of
  // the remaining packets.
  const uint64_t left = OverrunOf(exponent_, chosen) - total;
  // Frequent enough that the sum is accurate within a few percent when the next epoch begins.
  constexpr uint64_t kPublicationsPerShare = 32;
  const uint64_t step = (uint64_t{chosen} << exponent_) / kPublicationsPerShare;
  const uint64_t apart = std::min(step, left) / rate.Lcores();
  return {.exponent = exponent_, .next = eligible + std::max<uint64_t>(apart, 1)};
}

}  // namespace rocescope

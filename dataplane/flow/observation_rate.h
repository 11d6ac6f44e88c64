// SPDX-License-Identifier: BSD-3-Clause
// One k for all lcores of a box. Each publishes how many packets it could have sighted in the epoch
// (a record interval) that it is in; whoever enters an epoch first decides its k from what all of
// them had in the one before, and the others take it from there. Traffic that comes twice as fast
// as k was made for raises it within the epoch; the others follow when they publish next.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "dataplane/flow/observation.h"

namespace rocescope {

class ObservationRate {
 public:
  struct Options {
    uint32_t chosen_per_interval = 8192;  // of the box
    uint8_t minimum_exponent = 0;         // for a fleet whose boxes shall choose alike
  };

  explicit ObservationRate(Options options);

  // One lcore's part, and that lcore's alone. The rate must outlive it.
  class Member {
   public:
    // The k of an epoch that begins; it may be any, also an earlier one.
    uint8_t Enter(int64_t epoch);

    struct Review {
      uint8_t exponent;  // k from here on
      uint64_t next;     // the count at which to publish again: more than the one told
    };
    // Publishes what the epoch had so far.
    Review Publish(uint64_t eligible);

   private:
    friend class ObservationRate;
    Member(ObservationRate& rate, uint32_t number) : rate_(&rate), number_(number) {}

    ObservationRate* rate_;
    uint32_t number_;
    int64_t epoch_ = 0;
    uint8_t exponent_ = 0;
  };

  // Once for each lcore; beyond kMaximumLcores they share a place and count for one.
  Member Join();

  static constexpr uint32_t kMaximumLcores = 128;

 private:
  // An epoch's number modulo 2^32 and a count, in one word so that they cannot be torn apart.
  struct alignas(64) Published {
    std::atomic<uint64_t> current{0};
    std::atomic<uint64_t> previous{0};  // the epoch before, whole
  };
  // Lcores that are farther apart than this many epochs decide for themselves.
  static constexpr size_t kDecisions = 64;

  std::atomic<uint64_t>& DecisionOf(int64_t epoch) {
    return decisions_[static_cast<uint64_t>(epoch) % kDecisions];
  }
  uint32_t Lcores() const;
  uint64_t TotalIn(int64_t epoch) const;
  uint64_t TotalBefore(int64_t epoch) const;

  const Options options_;
  std::atomic<uint32_t> joined_{0};
  std::array<Published, kMaximumLcores> published_;
  std::array<std::atomic<uint64_t>, kDecisions> decisions_;  // epoch, k
};

// The least k, from `minimum` on, at which no more than `chosen` of `eligible` packets are chosen.
constexpr uint8_t ExponentFor(uint64_t eligible, uint32_t chosen, uint8_t minimum) {
  uint8_t exponent = std::min(minimum, kMaximumObservationExponent);
  while (exponent < kMaximumObservationExponent && eligible >> exponent > chosen) ++exponent;
  return exponent;
}

// The count at which k is far too small for what comes.
constexpr uint64_t OverrunOf(uint8_t exponent, uint32_t chosen) {
  constexpr uint64_t kOverrun = 2;
  return exponent >= kMaximumObservationExponent ? UINT64_MAX : (kOverrun * chosen + 1) << exponent;
}

}  // namespace rocescope

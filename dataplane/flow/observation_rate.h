// SPDX-License-Identifier: BSD-3-Clause
// One k for all lcores of an appliance. Each lcore publishes the number of eligible packets in its
// current epoch (a record interval). The first lcore to enter an epoch determines k from the sum of
// the epoch before; the others use the same k. If traffic is twice as fast as k was chosen for, an
// lcore raises k within the epoch; the others follow when they next publish.
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
    uint32_t chosen_per_interval = 8192;  // for the whole appliance
    // Common minimum of a fleet, so that its appliances select the same packets.
    uint8_t minimum_exponent = 0;
  };

  explicit ObservationRate(Options options);

  // The interface of one lcore, used by that lcore only. The ObservationRate must outlive it.
  class Member {
   public:
    // Returns the k of an epoch that begins. Epochs may come in any order, also an earlier one.
    uint8_t Enter(int64_t epoch);

    struct Review {
      uint8_t exponent;  // k from now on
      uint64_t next;     // the count at which to publish again; greater than the published one
    };
    // Publishes the number of eligible packets in the epoch so far.
    Review Publish(uint64_t eligible);

   private:
    friend class ObservationRate;
    Member(ObservationRate& rate, uint32_t number) : rate_(&rate), number_(number) {}

    ObservationRate* rate_;
    uint32_t number_;
    int64_t epoch_ = 0;
    uint8_t exponent_ = 0;
  };

  // Called once by each lcore. Beyond kMaximumLcores, lcores share a slot and count as one.
  Member Join();

  static constexpr uint32_t kMaximumLcores = 128;

 private:
  // An epoch number modulo 2^32 and a count in one word, so that they are updated together.
  struct alignas(64) Published {
    std::atomic<uint64_t> current{0};
    std::atomic<uint64_t> previous{0};  // complete count of the epoch before
  };
  // Lcores that are further apart than this number of epochs choose k independently.
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

// Smallest k, but at least `minimum`, for which at most `chosen` of `eligible` packets are
// selected.
constexpr uint8_t ExponentFor(uint64_t eligible, uint32_t chosen, uint8_t minimum) {
  uint8_t exponent = std::min(minimum, kMaximumObservationExponent);
  while (exponent < kMaximumObservationExponent && eligible >> exponent > chosen) ++exponent;
  return exponent;
}

// Number of eligible packets in an epoch from which the exponent k (`exponent`) is far too small:
// k then selects more than twice `chosen` packets.
constexpr uint64_t OverrunOf(uint8_t exponent, uint32_t chosen) {
  constexpr uint64_t kOverrun = 2;
  return exponent >= kMaximumObservationExponent ? UINT64_MAX : (kOverrun * chosen + 1) << exponent;
}

}  // namespace rocescope

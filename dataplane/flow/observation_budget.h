// SPDX-License-Identifier: BSD-3-Clause
// Limits on the packet observations of a flow table: k for packets selected by the hash rule, a
// rate limit for the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/flow/observation.h"
#include "dataplane/flow/observation_rate.h"

namespace rocescope {

// Chooses k for each epoch so that about `per_interval` packets of a record interval are selected,
// and limits the packets that are reported independently of k (NAK, CNP). An epoch is a record
// interval, or a part of it if traffic arrives faster than k was chosen for.
class ObservationBudget {
 public:
  struct Options {
    uint32_t chosen_per_interval = 8192;
    uint32_t always_per_interval = 8192;
    // Common minimum of a fleet, so that its appliances select the same packets.
    uint8_t minimum_exponent = 0;
    // Shared by lcores that work together; if set, it determines k, and the numbers above are
    // unused.
    std::shared_ptr<ObservationRate> rate;
  };

  explicit ObservationBudget(const Options& options) : options_(options) {
    if (options_.rate) member_ = options_.rate->Join();
    SetExponent(std::min(options_.minimum_exponent, kMaximumObservationExponent));
  }

  uint8_t exponent() const { return exponent_; }

  // Same result as IsChosen(hash, exponent()).
  bool Chooses(uint64_t hash) const { return hash <= threshold_; }

  // Counts a packet after it is known whether it was selected. Increases k if it is far too small
  // for the traffic.
  void CountEligible() {
    if (++eligible_ >= limit_) [[unlikely]]
      Review();
  }

  bool AdmitAlways() {
    if (always_ >= options_.always_per_interval) {
      ++capped_;
      return false;
    }
    ++always_;
    return true;
  }

  void BeginInterval(int64_t index) {
    if (!member_) return;
    SetExponent(member_->Enter(index));
    Review();
  }

  // Sets k according to the interval's traffic. A k that several lcores share is set only when the
  // next interval begins. Returns the number of observations that the rate limit dropped.
  uint64_t EndInterval() {
    if (member_) {
      member_->Publish(eligible_);
    } else {
      SetExponent(ExponentFor(eligible_, options_.chosen_per_interval, options_.minimum_exponent));
    }
    const uint64_t capped = capped_;
    eligible_ = always_ = capped_ = 0;
    return capped;
  }

 private:
  void Review() {
    if (!member_) {
      SetExponent(std::min<uint8_t>(exponent_ + 1, kMaximumObservationExponent));
      return;
    }
    const ObservationRate::Member::Review review = member_->Publish(eligible_);
    SetExponent(review.exponent);
    limit_ = review.next;
  }

  void SetExponent(uint8_t exponent) {
    exponent_ = exponent;
    threshold_ = UINT64_MAX >> exponent;
    limit_ = OverrunOf(exponent, options_.chosen_per_interval);
  }

  Options options_;
  std::optional<ObservationRate::Member> member_;
  uint8_t exponent_ = 0;
  uint64_t threshold_ = 0;  // largest hash that k selects
  uint64_t limit_ = 0;      // number of eligible packets at which k is reviewed again
  uint64_t eligible_ = 0;
  uint64_t always_ = 0;
  uint64_t capped_ = 0;
};

}  // namespace rocescope

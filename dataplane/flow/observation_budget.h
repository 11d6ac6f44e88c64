// SPDX-License-Identifier: BSD-3-Clause
// How many packets a table may sight: k for those that the rule chooses, a cap for the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/flow/observation.h"
#include "dataplane/flow/observation_rate.h"

namespace rocescope {

// Chooses k for each epoch so that about `per_interval` packets of a record interval are chosen,
// and caps the packets that are reported whatever k is (NAK, CNP). An epoch is a record interval,
// or less of it where traffic comes faster than k was made for.
class ObservationBudget {
 public:
  struct Options {
    uint32_t chosen_per_interval = 8192;
    uint32_t always_per_interval = 8192;
    uint8_t minimum_exponent = 0;  // for a fleet whose boxes shall choose alike
    // Of lcores that work together: its k is theirs, in place of one by the numbers above.
    std::shared_ptr<ObservationRate> rate;
  };

  explicit ObservationBudget(const Options& options) : options_(options) {
    if (options_.rate) member_ = options_.rate->Join();
    SetExponent(std::min(options_.minimum_exponent, kMaximumObservationExponent));
  }

  uint8_t exponent() const { return exponent_; }

  // As IsChosen(hash, exponent()).
  bool Chooses(uint64_t hash) const { return hash <= threshold_; }

  // Counts a packet, once it is known whether it was chosen; k grows when it is far too small for
  // what comes.
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

  // Sets k by what the interval had, unless all lcores do when the next one begins; returns how
  // many sightings the cap refused in it.
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
  uint64_t threshold_ = 0;  // of the hashes that k chooses
  uint64_t limit_ = 0;      // eligible packets at which k is looked at again
  uint64_t eligible_ = 0;
  uint64_t always_ = 0;
  uint64_t capped_ = 0;
};

}  // namespace rocescope

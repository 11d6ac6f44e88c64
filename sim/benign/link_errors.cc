// SPDX-License-Identifier: BSD-3-Clause
#include "sim/benign/link_errors.h"

#include <cmath>
#include <utility>

namespace rocescope::sim {
namespace {

constexpr uint64_t kLongestFrame = 10'000;  // bytes on the wire, above every jumbo MTU

}  // namespace

LinkErrors::LinkErrors(Engine& engine, const Port& sender, Options options)
    : engine_(engine),
      sender_(sender),
      options_(std::move(options)),
      damage_(options_.seed, "link damage", options_.number),
      codewords_(options_.seed, "codewords", options_.number) {
  next_damage_ = 0;
  DrawNextDamage();
  in_slot_ = DrawPoisson(options_.corrected_rate * kSlot / kSecond);
}

void LinkErrors::DrawNextDamage() {
  if (options_.damage_rate <= 0) {
    next_damage_ = kNever;
    return;
  }
  const double wait = -std::log(1 - damage_.Uniform()) / options_.damage_rate * kSecond;
  constexpr double kFarAway = 4e18;  // beyond any run
  next_damage_ = wait + static_cast<double>(next_damage_) > kFarAway
                     ? kNever
                     : next_damage_ + static_cast<SimTime>(wait) + 1;
}

// Damage before this time met an idle link.
void LinkErrors::SkipDamage(SimTime until) {
  while (next_damage_ < until) {
    ++idle_damages_;
    DrawNextDamage();
  }
}

// Called when the frame arrives. Its last bit left the sender one propagation delay ago.
WireFault::Fate LinkErrors::FateOf(const Frame& frame) {
  const SimTime now = engine_.Now();
  bool breaks = false;
  if (next_damage_ != kNever) {
    SkipDamage(now - TransmitTime(frame.wire_bytes, sender_.bits_per_second()));
    while (next_damage_ <= now) {
      breaks = true;
      DrawNextDamage();
    }
  }
  if (next_strike_ < options_.strikes.size() && options_.strikes[next_strike_] <= now) {
    breaks = true;
    ++next_strike_;
  }
  if (!breaks) return Fate::kPasses;
  broken_.push_back(now);
  return Fate::kBitError;
}

FecCounts LinkErrors::FecAt(SimTime now) {
  // Later damage may have met a frame that has not arrived yet: FateOf decides.
  SkipDamage(now - TransmitTime(kLongestFrame, sender_.bits_per_second()));
  while (now - slot_ >= kSlot) {
    corrected_ += in_slot_;
    in_slot_ = DrawPoisson(options_.corrected_rate * kSlot / kSecond);
    slot_ += kSlot;
  }
  const double share = static_cast<double>(now - slot_) / kSlot;
  const auto part = static_cast<uint64_t>(share * static_cast<double>(in_slot_));
  // A broken frame, whatever broke it, was in an uncorrected codeword.
  return {.corrected = corrected_ + part,
          .uncorrected = idle_damages_ + sender_.peer()->counters().fcs_errors};
}

uint64_t LinkErrors::DrawPoisson(double mean) {
  if (mean <= 0) return 0;
  constexpr double kNormalFrom = 50;
  if (mean > kNormalFrom) {  // Box and Muller
    constexpr double kTurn = 6.283185307179586;
    const double normal =
        std::sqrt(-2 * std::log(1 - codewords_.Uniform())) * std::cos(kTurn * codewords_.Uniform());
    return static_cast<uint64_t>(std::max(0.0, std::round(mean + normal * std::sqrt(mean))));
  }
  // The number of exponential waits that fit.
  uint64_t count = 0;
  for (double left = mean; (left += std::log(1 - codewords_.Uniform())) > 0;) ++count;
  return count;
}

}  // namespace rocescope::sim

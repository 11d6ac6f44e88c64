// SPDX-License-Identifier: BSD-3-Clause
// Rare errors of one direction of a healthy link, and what the receiver's FEC counts.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/random.h"
#include "sim/net/port.h"

namespace rocescope::sim {

// Damage is a Poisson process in time: it also occurs while the link is idle, and breaks a frame
// only if one is on the link. Computed when a frame arrives, so it needs no events.
class LinkErrors final : public WireFault, public FecSource {
 public:
  struct Options {
    double damage_rate = 0;        // per second
    double corrected_rate = 0;     // codewords per second
    std::vector<SimTime> strikes;  // in ascending order; each breaks the next frame
    uint64_t seed = 0;
    uint64_t number = 0;  // number of the sending port; selects the random stream
  };
  // `sender` sends the frames; it must outlive this object.
  LinkErrors(Engine& engine, const Port& sender, Options options);

  Fate FateOf(const Frame& frame) override;
  FecCounts FecAt(SimTime now) override;

  const std::vector<SimTime>& broken() const { return broken_; }  // arrival times of broken frames

 private:
  // Counts are drawn per slot and spread evenly within it, so that they do not depend on when they
  // are read.
  static constexpr SimTime kSlot = kMillisecond;

  void DrawNextDamage();
  void SkipDamage(SimTime until);
  uint64_t DrawPoisson(double mean);

  Engine& engine_;
  const Port& sender_;
  const Options options_;
  Random damage_;
  Random codewords_;
  SimTime next_damage_ = kNever;
  uint64_t idle_damages_ = 0;  // that broke no frame
  size_t next_strike_ = 0;
  std::vector<SimTime> broken_;
  SimTime slot_ = 0;        // start of the current slot
  uint64_t corrected_ = 0;  // before the current slot
  uint64_t in_slot_ = 0;    // in the whole current slot
};

}  // namespace rocescope::sim

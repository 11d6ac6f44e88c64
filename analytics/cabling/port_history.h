// SPDX-License-Identifier: BSD-3-Clause
// What a port's own counters said over time: few readings, whatever their number, that span all of
// it, and when its link came and went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"

namespace rocescope {

struct PortReading {
  Timestamp time;
  uint64_t received = 0;  // octets, since anything
  uint64_t sent = 0;
};

// The state of a link changed after one reading and by the next one.
struct LinkTransition {
  Timestamp after;
  Timestamp by;
  bool up = false;  // from then on
};

class PortHistory {
 public:
  static constexpr size_t kMaxReadings = 32;
  static constexpr size_t kMaxTransitions = 16;

  // In order of time; one that is older than the last is left out.
  void Add(const PortReading& reading);
  void AddState(Timestamp time, bool up);

  // Ascending; since the counters last began anew. Between two of them others may have been.
  std::span<const PortReading> readings() const { return readings_; }
  std::span<const LinkTransition> transitions() const { return transitions_; }
  std::optional<bool> up() const { return up_; }  // by the last reading
  uint64_t state_readings() const { return state_readings_; }
  Timestamp first_state() const { return first_state_; }
  Timestamp last_state() const { return last_state_; }
  bool ever_up() const { return ever_up_; }
  bool carried() const { return carried_; }  // ever, even before anybody looked

 private:
  void Thin();

  std::vector<PortReading> readings_;
  Duration spacing_{};  // a reading stands for all of so long, aligned to the epoch; 0: for itself
  std::vector<LinkTransition> transitions_;
  std::optional<bool> up_;
  Timestamp first_state_;
  Timestamp last_state_;
  uint64_t state_readings_ = 0;
  bool ever_up_ = false;
  bool carried_ = false;
};

}  // namespace rocescope

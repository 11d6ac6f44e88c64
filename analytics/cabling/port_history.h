// SPDX-License-Identifier: BSD-3-Clause
// A bounded history of a port's counters and link state: a limited number of readings that span the
// whole observation.
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
  uint64_t received = 0;  // bytes, since an arbitrary start
  uint64_t sent = 0;
};

// The link state changed in the interval (after, by].
struct LinkTransition {
  Timestamp after;
  Timestamp by;
  bool up = false;  // new state
};

class PortHistory {
 public:
  static constexpr size_t kMaxReadings = 32;
  static constexpr size_t kMaxTransitions = 16;

  // Readings must be in time order; older ones are ignored.
  void Add(const PortReading& reading);
  // Returns whether the link was down at some time since the last reading.
  bool AddState(Timestamp time, bool up);
  // Returns whether the flap counter changed since the last reading, unless a state change is known
  // since then. A reset of the counter may hide flaps.
  bool AddFlaps(Timestamp time, uint64_t count);
  void DropReadingsBefore(Timestamp time);

  // Ascending, since the last counter reset or DropReadingsBefore. Intermediate readings may have
  // been dropped.
  std::span<const PortReading> readings() const { return readings_; }
  std::span<const LinkTransition> transitions() const { return transitions_; }
  std::optional<bool> up() const { return up_; }  // according to the latest reading
  uint64_t state_readings() const { return state_readings_; }
  Timestamp first_state() const { return first_state_; }
  Timestamp last_state() const { return last_state_; }
  bool ever_up() const { return ever_up_; }
  // Whether the port ever carried traffic, even before the first reading.
  bool carried() const { return carried_; }

 private:
  void Thin();

  std::vector<PortReading> readings_;
  // One reading is kept per period of this length, aligned to the epoch; 0: all readings.
  Duration spacing_{};
  std::vector<LinkTransition> transitions_;
  std::optional<bool> up_;
  std::optional<uint64_t> flaps_;
  Timestamp last_flaps_;
  Timestamp first_state_;
  Timestamp last_state_;
  uint64_t state_readings_ = 0;
  bool ever_up_ = false;
  bool carried_ = false;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Estimates the frames that a link loses in one direction, from readings of both ends that were
// taken in the same traffic pause.
//
// The two ends of a link are read at different times, and the frames between these times hide
// losses. If both ends are read in the same pause (for example between two iterations of a job), no
// frames are in between. The opposite direction identifies such pairs of readings: there, frames
// sent minus frames received has the same value in every pause. An idle time of the link, in which
// the differences of both directions are known exactly (LossBounds), shows which values are those
// of pauses.
//
// Without a pause, the difference may be greater for a while by chance, because the times of the
// readings drift through the iterations. After a loss, the difference stops growing at a higher
// value, and keeps it for longer than it ever differed before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace rocescope {

// One reading of each end of a link. The unit of the differences is frames, and they have an
// unknown but constant offset.
struct LinkReadings {
  int64_t missing = 0;        // sent by one end minus received by the other
  int64_t missing_other = 0;  // the same of the other direction
  Timestamp time;             // of the later reading
  uint64_t sent = 0;
  uint64_t received = 0;
};

class RepeatedReadings {
 public:
  // In order of time.
  void Add(const LinkReadings& readings);
  // The link was idle, and this was the difference of this direction. Returns true if it refutes
  // lost(), which is then 0.
  bool OnIdle(int64_t missing);
  // A counter's increase is unknown. Nothing is found until the next idle time.
  void Restart() { *this = {}; }

  // Estimated frames lost since the latest restart, which may be too low; 0 if they are fewer than
  // kLeastFrames. Unlike LossBounds, this is no proof.
  uint64_t lost() const { return lost_; }
  // The last readings without a loss. Only valid if lost() > 0.
  const LinkReadings& intact() const { return intact_; }
  // The latest readings from a pause that show the loss.
  const LinkReadings& latest() const { return latest_; }

 private:
  static constexpr uint64_t kLeastFrames = 10;  // the two ends may count a few differently
  static constexpr uint64_t kLeastSent = 1000;  // frames; keepalive frames are no traffic
  static constexpr size_t kRecent = 64;         // readings
  static constexpr size_t kPauses = 8;
  static constexpr uint32_t kLeastEqual = 4;     // repetitions without a loss before one
  static constexpr uint32_t kLeastWithLoss = 8;  // repetitions with a loss
  static constexpr uint32_t kSettledLoss = 3;    // of these, more with the same loss
  static constexpr uint32_t kNewBase = 8;        // repetitions until a difference is normal
  static constexpr uint32_t kLonger = 2;         // times the longest time without a pause
  static constexpr double kMostScattered = 0.5;  // fraction of the repetitions
  static constexpr double kMostLost = 0.01;      // of the frames sent since the last one

  // The readings with one value of missing_other, which may be that of pauses.
  struct Pause {
    LinkReadings base;          // the last ones without a loss
    bool is_confirmed = false;  // by an idle time
    uint64_t sent = 0;          // in the last ones
    uint32_t equal = 0;         // repetitions without a loss
    uint32_t scattered = 0;     // repetitions in which this direction did not pause
    // Repetitions since the base.
    uint32_t since_base = 0;
    uint32_t with_loss = 0;
    int64_t missing = 0;   // in the last one with a loss
    uint32_t settled = 0;  // repetitions of this value
    int64_t lower = 0;     // in the last one with a difference below the base
    uint32_t lower_settled = 0;
    // The most ever between two repetitions without a loss.
    uint32_t most_since_base = 0;
    Duration longest{};
  };

  bool IsOfIdle(int64_t missing) const;  // except for a few frames
  Pause* Find(const LinkReadings& readings);
  void Repeat(Pause& pause, const LinkReadings& readings, uint64_t sent) const;
  void AddLoss(Pause& pause, const LinkReadings& readings) const;
  void SetBase(Pause& pause, const LinkReadings& readings) const;
  static bool IsLoss(const Pause& pause, Timestamp time);

  // The latest values of missing_other that are in no element of pauses_, modulo 2^32.
  std::vector<uint32_t> recent_;
  size_t next_recent_ = 0;
  std::optional<int64_t> idle_;  // difference when the link was idle
  std::vector<Pause> pauses_;    // the least recently used first
  uint64_t lost_ = 0;
  LinkReadings intact_;
  LinkReadings latest_;
};

}  // namespace rocescope

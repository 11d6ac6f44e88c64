// SPDX-License-Identifier: BSD-3-Clause
// Frames that a link loses in one direction, from pairs of readings that repeat.
//
// The two ends of a link are read at different moments, and the frames between these moments hide
// losses. They hide nothing if both readings were taken in one pause of the traffic, as between two
// iterations of a job. The other direction shows when: the difference between the frames that one
// end sent there and those that the other end received has the same value in every pause, and
// seldom otherwise. Whenever it repeats, the difference of this direction repeats too, unless
// frames were lost in between. An idle time of the link, in which both differences are known
// exactly (LossBounds), shows which values are those of pauses.
//
// Without a pause, the difference may by chance be greater for a while, because the moments of the
// readings drift through the iterations. A loss differs from this: the difference stops to grow at
// a new value, repeats it, and stays there for longer than it ever differed before.
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
  // The link was idle, and this was the difference of this direction.
  void OnIdle(int64_t missing);
  // A counter's increase is unknown.
  void Restart() { *this = {}; }

  // Frames lost since the latest restart; 0 if fewer than kLeastFrames. Unlike LossBounds, this is
  // no proof.
  uint64_t lost() const { return lost_; }
  // The last readings without a loss. Only valid if lost() > 0.
  const LinkReadings& intact() const { return intact_; }
  // The last readings that are comparable to those of intact().
  const LinkReadings& latest() const { return latest_; }

 private:
  static constexpr uint64_t kLeastFrames = 10;  // the two ends may count a few differently
  static constexpr size_t kRecent = 64;         // readings
  static constexpr size_t kPlaces = 8;
  static constexpr uint32_t kFamiliar = 4;       // repetitions
  static constexpr uint32_t kLeastRises = 8;     // repetitions with a loss
  static constexpr uint32_t kSettled = 3;        // more repetitions with the same loss
  static constexpr uint32_t kForGood = 8;        // more repetitions with the same difference
  static constexpr uint32_t kLonger = 2;         // times the longest time without a pause
  static constexpr double kMostScattered = 0.5;  // fraction of the repetitions
  static constexpr double kMostLost = 0.01;      // of the frames sent; more is visible otherwise

  // The readings with one value of missing_other.
  struct Place {
    LinkReadings base;  // the last ones without a loss
    bool is_pause = false;
    uint64_t sent = 0;       // in the last ones
    uint32_t equal = 0;      // repetitions without a loss
    uint32_t scattered = 0;  // repetitions in which the traffic did not pause in this direction
    // Between repetitions without a loss.
    uint32_t others = 0;  // since the last one
    uint32_t most_others = 0;
    Duration longest{};
    // Later ones with a loss, which grows.
    uint32_t rises = 0;
    int64_t missing = 0;
    uint32_t settled = 0;  // rises with the present loss, except the first
    // The last repetitions with less than without a loss.
    int64_t lower = 0;
    uint32_t lower_settled = 0;
  };

  Place* Find(const LinkReadings& readings);
  static void Repeat(Place& place, const LinkReadings& readings);
  static void Rise(Place& place, const LinkReadings& readings);
  static void Rebase(Place& place, const LinkReadings& readings);
  static bool IsLoss(const Place& place, Timestamp time);

  // The latest values of missing_other that did not repeat yet, modulo 2^32.
  std::vector<uint32_t> recent_;
  size_t next_recent_ = 0;
  std::optional<int64_t> idle_;  // difference when the link was idle
  std::vector<Place> places_;    // the least recently used first
  uint64_t lost_ = 0;
  LinkReadings intact_;
  LinkReadings latest_;
};

}  // namespace rocescope

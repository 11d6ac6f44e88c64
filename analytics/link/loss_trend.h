// SPDX-License-Identifier: BSD-3-Clause
// Estimates the frames that a link loses although it is never idle, from readings of both ends that
// are taken at different times and through caches.
//
// A reading that is late by some time misses the frames of this time, both in the frames that a
// device sent and in those that it received. So what one direction of a link seems to lose, the
// other direction seems to gain, in proportion to their traffic. The sum of both differences, each
// in proportion to the traffic of its direction, does not depend on the times of the readings. It
// is constant if the link loses nothing, and otherwise grows with the traffic. The fluctuations of
// the sum are its uncertainty, which falls with the number of readings, while losses add up.
//
// The sum does not show which direction loses the frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace rocescope {

// The latest readings of both ends of a link. The unit of the differences is frames, and they have
// an unknown but constant offset.
struct TrendReadings {
  int64_t missing = 0;        // sent by one end minus received by the other
  int64_t missing_other = 0;  // the same of the other direction
  uint64_t sent = 0;          // by the end that sends in the direction, and
  uint64_t received = 0;      // what it received, at the same moment
  Timestamp time;
};

class LossTrend {
 public:
  struct Loss {
    double frames = 0;  // estimate
    double sent = 0;    // frames sent from `from` to `last`, in the direction
    Timestamp from;
    Timestamp last;  // the latest readings with more loss
    Timestamp detected_at;
    bool is_over = false;  // the sum has stopped growing
  };

  // In order of time.
  void Add(const TrendReadings& readings);
  // A counter's increase is unknown: the offsets have changed. A loss is over.
  void Restart();

  // The latest loss.
  const std::optional<Loss>& loss() const { return loss_; }

 private:
  static constexpr size_t kReadings = 16;  // in a block
  static constexpr size_t kMostBlocks = 48;
  static constexpr size_t kLeastBlocks = 24;
  static constexpr size_t kLeastAfter = 6;  // blocks after the beginning, and after the end

  // Some consecutive readings.
  struct Block {
    double sum = 0;    // their median
    double ratio = 0;  // traffic of the direction divided by that of the other one, in frames
    double sent = 0;
    Timestamp from;
    Timestamp until;
  };
  // A constant sum that grows with the traffic between the starts of two blocks.
  struct Fit {
    double slope = 0;  // lost frames for each frame that is sent
    double rest = 0;   // typical residual, in frames
  };

  void FinishBlock();
  bool LeavesOut(const Block& block);
  void MergeOldest();
  bool Grows() const;
  Fit FitOf(size_t begin, size_t end) const;
  void Update();

  std::array<TrendReadings, kReadings> readings_;
  size_t count_ = 0;
  // Typical differences of the first block, to which those of later ones are relative. The errors
  // of the ratios are therefore multiplied with small values.
  std::optional<std::pair<double, double>> usual_;
  uint32_t others_ = 0;        // blocks in a row whose traffic has another ratio
  std::vector<Block> blocks_;  // in order of time
  std::optional<Loss> loss_;
  double sent_before_ = 0;  // frames sent before the loss
};

}  // namespace rocescope

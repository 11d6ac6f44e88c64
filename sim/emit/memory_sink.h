// SPDX-License-Identifier: BSD-3-Clause
// Stores frames in memory for tests.
#pragma once

#include <vector>

#include "sim/emit/frame_sink.h"

namespace rocescope::sim {

class MemorySink final : public FrameSink {
 public:
  struct Kept {
    Timestamp arrival;
    std::vector<uint8_t> bytes;
    uint32_t original = 0;

    bool operator==(const Kept&) const = default;
  };

  std::span<uint8_t> Room() override { return room_; }
  void Add(Timestamp arrival, size_t captured, uint32_t original) override {
    frames_.push_back({.arrival = arrival,
                       .bytes = {room_.begin(), room_.begin() + static_cast<long>(captured)},
                       .original = original});
  }
  const std::vector<Kept>& frames() const { return frames_; }

 private:
  std::vector<uint8_t> room_ = std::vector<uint8_t>(kMaxBytes);
  std::vector<Kept> frames_;
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// Packet and byte counters that cannot be right, whatever they are compared with: in a wrong unit,
// rounded, or rates instead of totals. The state is bounded, and a problem that ends or begins late
// is noticed within 128 readings.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/metric/counter_listener.h"
#include "topology/fabric.h"

namespace rocescope {

enum class CounterProblemKind : uint8_t {
  kShortFrames,  // fewer bytes per packet than any frame has: the bytes are wrong
  kLongFrames,   // more bytes per packet than any frame has: the packets or the bytes are wrong
  kRounded,      // only multiples of a large number
  kFalls,        // often lower than the reading before
};

struct CounterProblem {
  CounterProblemKind kind{};
  // Mean bytes per packet, the greatest common divisor of the readings, or the fraction of the
  // readings that are lower.
  double value = 0;

  bool AreOnlyBytesWrong() const { return kind == CounterProblemKind::kShortFrames; }

  friend bool operator==(const CounterProblem&, const CounterProblem&) = default;
};

class CounterChecks final : public CounterListener {
 public:
  // Outside of these limits, in bytes, the mean length of frames is impossible.
  static constexpr double kShortest = 40;
  static constexpr double kLongest = 16'000;
  static constexpr uint64_t kRoundedTo = 1000;  // rounded to so many packets or more

  // `fabric` must outlive this object.
  explicit CounterChecks(const topology::Fabric& fabric);

  // Uses packets and bytes.
  void OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) override;

  // The problem of the counters of what the port sent, or received.
  std::optional<CounterProblem> ProblemOfSent(topology::PortIndex port) const {
    return ProblemOf(ports_[port].sent, port);
  }
  std::optional<CounterProblem> ProblemOfReceived(topology::PortIndex port) const {
    return ProblemOf(ports_[port].received, port);
  }

 private:
  // The increase of a counter since the last restart of packets or bytes.
  struct Growth {
    uint64_t from = 0;
    uint64_t until = 0;
    uint32_t restarts = 0;
    bool is_read = false;

    uint64_t sum() const { return until - from; }
  };
  // Consecutive readings of packets, those that were rejected because they fell included.
  struct Block {
    static constexpr uint32_t kReadings = 64;

    uint64_t divisor = 0;  // greatest common divisor
    uint32_t readings = 0;
    uint32_t changes = 0;  // readings that differ from the one before
    uint32_t falls = 0;
  };
  struct Counter {
    Growth packets;
    Growth bytes;
    Block present;
    Block before;                 // the latest complete one
    uint64_t value = 0;           // packets at the latest reading
    uint64_t most_bytes = 0;      // highest reading of bytes
    Duration longest_interval{};  // between two readings of bytes
  };
  struct PortState {
    Counter sent;
    Counter received;
  };

  static void OnPackets(Counter& counter, const MetricSeries& series, uint32_t falls);
  static void OnBytes(Counter& counter, const MetricSeries& series);
  static std::optional<CounterProblem> ProblemOf(const Block& block);
  std::optional<CounterProblem> ProblemOf(const Counter& counter, topology::PortIndex port) const;

  const topology::Fabric& fabric_;
  std::vector<PortState> ports_;  // by port
};

}  // namespace rocescope

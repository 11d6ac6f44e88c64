// SPDX-License-Identifier: BSD-3-Clause
// Reads the counters of switches and NICs periodically.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dataplane/run/counter_columns.h"
#include "sim/emit/wall_clock.h"
#include "sim/emit/watermarks.h"
#include "sim/host/network.h"

namespace rocescope::sim {

struct CounterLogOptions {
  WallClock clock;
  SimTime period = kMillisecond;
  // Mask of the priorities that are always reported. Other priorities are reported once they have a
  // non-zero counter.
  uint8_t priorities = 1u << 3 | 1u << 6;
  // The owner calls Read at the multiples of this time; 0: at no time.
  SimTime read_by_owner = 0;
};

// Writes a reading of each switch port and each NIC, and one of each of their priorities. Nothing
// in the network changes, except that switches reset watermarks.
class CounterLog {
 public:
  // The network, the sink and the watermarks must outlive this object.
  CounterLog(Network& network, const CounterLogOptions& options, CounterSink& sink,
             Watermarks& watermarks);
  CounterLog(const CounterLog&) = delete;  // events refer to it
  CounterLog& operator=(const CounterLog&) = delete;

  // Reads the counters now and after each period. From then on there is always a next event, so
  // Engine::Run needs an end time.
  void Start();
  // Reads the counters now.
  void Read();
  // Reads other sources, for example GPUs, at the end of each Read.
  void AlsoRead(std::function<void()> read) { also_.push_back(std::move(read)); }

  CounterSink& sink() { return sink_; }
  // The time of the last Read; kNever before the first one.
  SimTime last_read() const { return last_read_; }
  Timestamp Now() const { return options_.clock.At(network_.engine().Now()); }
  const CounterLogOptions& options() const { return options_; }

 private:
  static constexpr uint32_t kUnannounced = UINT32_MAX;
  // Numbers of a port or NIC and its priorities in the sink.
  struct Numbers {
    uint32_t all = kUnannounced;
    std::array<uint32_t, kPriorities> priorities;
  };

  void ReadPort(std::string_view node, topology::PortIndex index);
  void ReadNic(topology::NicIndex index);
  void ReadPriorities(const CounterEntity& entity, topology::PortIndex index, bool is_switch);
  bool IsUntouched(topology::PortIndex index, uint32_t priority);
  void Put(const CounterEntity& entity, std::span<const Metric> metrics, uint32_t& number,
           std::span<const uint64_t> values);
  uint64_t Nanoseconds(SimTime length) const {
    return static_cast<uint64_t>(options_.clock.Length(length).count());
  }

  Network& network_;
  const CounterLogOptions options_;
  CounterSink& sink_;
  Watermarks& watermarks_;
  const uint32_t reader_;  // number of this reader of the watermarks
  std::vector<std::function<void()>> also_;
  SimTime last_read_ = kNever;
  std::vector<Numbers> numbers_;   // indexed by PortIndex
  std::vector<uint8_t> reported_;  // indexed by PortIndex: mask of priorities
};

}  // namespace rocescope::sim

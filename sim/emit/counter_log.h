// SPDX-License-Identifier: BSD-3-Clause
// Writes counters.jsonl: the counters of switches and NICs, polled periodically. dataplane/run
// defines the format and the names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dataplane/run/counter_line.h"
#include "sim/emit/output_file.h"
#include "sim/emit/wall_clock.h"
#include "sim/host/network.h"

namespace rocescope::sim {

struct CounterLogOptions {
  WallClock clock;
  SimTime period = kMillisecond;
  // Mask of the priorities that are always reported. Other priorities are reported once they have a
  // non-zero counter.
  uint8_t priorities = 1u << 3 | 1u << 6;
};

// Writes one line for each switch port and each NIC, and one for each of their priorities. Reading
// a watermark of a queue or buffer resets it, as in a real switch; nothing else in the network
// changes.
class CounterLog {
 public:
  // The network and the file must outlive this object.
  CounterLog(Network& network, const CounterLogOptions& options, TextFile& file);
  CounterLog(const CounterLog&) = delete;  // events refer to it
  CounterLog& operator=(const CounterLog&) = delete;

  // Reads the counters now and after each period. From then on there is always a next event, so
  // Engine::Run needs an end time.
  void Start();
  void Read();
  // Adds a line from another source, for example a GPU. The time is filled in.
  void Add(CounterLine line);
  const CounterLogOptions& options() const { return options_; }

 private:
  void ReadPort(std::string_view node, topology::PortIndex index);
  void ReadNic(topology::NicIndex index);
  void ReadPriorities(CounterLine& line, Port& port, topology::PortIndex index, bool is_switch);
  void Put(CounterLine& line);
  uint64_t Nanoseconds(SimTime length) const {
    return static_cast<uint64_t>(options_.clock.Length(length).count());
  }

  Network& network_;
  const CounterLogOptions options_;
  TextFile& file_;
  std::vector<uint8_t> told_;  // indexed by PortIndex: mask of priorities
};

}  // namespace rocescope::sim

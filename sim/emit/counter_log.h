// SPDX-License-Identifier: BSD-3-Clause
// counters.jsonl: what management reads of switches and NICs, period after period. The format and
// the names are those of dataplane/run.
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
  // Mask of those that are told from the beginning; others once something happened to them.
  uint8_t priorities = 1u << 3 | 1u << 6;
};

// A line for each port of a switch and for each NIC, and for each of their priorities. Reading a
// queue's or buffer's watermark begins it anew, as it does in a switch; nothing else of the network
// changes.
class CounterLog {
 public:
  // Network and file must outlive it.
  CounterLog(Network& network, const CounterLogOptions& options, TextFile& file);
  CounterLog(const CounterLog&) = delete;  // events know it
  CounterLog& operator=(const CounterLog&) = delete;

  // Reads now and after each period. The engine is never idle then: run it to a time.
  void Start();
  void Read();
  // Somebody else's line, a GPU's say; its time is filled in.
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
  std::vector<uint8_t> told_;  // by PortIndex: mask of priorities
};

}  // namespace rocescope::sim

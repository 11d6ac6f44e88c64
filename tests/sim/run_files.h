// SPDX-License-Identifier: BSD-3-Clause
// Sums up the files of a simulated run by port, for comparison with each other: mirrored copies,
// INT postcards, sFlow samples, and the last reading of each counter.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/record/metric.h"
#include "topology/fabric.h"

namespace rocescope::sim::test {

struct FrameSums {
  uint64_t frames = 0;
  uint64_t bytes = 0;  // without FCS, from the frames' IP headers
  uint64_t ce_marked = 0;
};

// A sender's sequence numbers from 0. Missing numbers were lost on the path to the appliance.
struct Sequence {
  uint64_t arrived = 0;
  uint64_t next = 0;  // the highest number plus one
  uint64_t backwards = 0;

  void Add(uint64_t number) {
    ++arrived;
    backwards += number < next;
    next = number + 1;
  }
  uint64_t Gaps() const { return next - arrived; }
};

struct MirrorSums {  // sums over sessions without and with port information
  Sequence sequence;
  FrameSums sums;
};

struct SampleSums {     // sums of a port
  Sequence samples;     // packet samples; sFlow counts from 1, this from 0
  uint64_t pool = 0;    // value in the last sample
  Sequence discards;    // dropped packets, counted from 0
  uint64_t missed = 0;  // discards that the agent missed, according to its last sample
  // Counter readings; the next members hold the last one (frames, bytes with FCS).
  uint64_t readings = 0;
  uint64_t received = 0;
  uint64_t received_bytes = 0;
};

struct PortCounts {
  std::array<uint64_t, kMetricCount> last{};     // value of the port, or sum over priorities
  std::array<uint64_t, kMetricCount> highest{};  // maximum over all readings and priorities
  uint64_t operator[](Metric metric) const { return last[static_cast<size_t>(metric)]; }
};

// Indices are those of the fabric.
struct RunFiles {
  using Session = std::pair<topology::NodeIndex, uint32_t>;

  explicit RunFiles(const topology::Fabric& the_fabric);

  // A missing capture has no frames. Unreadable frames are counted in `strange`.
  void ReadMirror(const std::string& path);
  void ReadInt(const std::string& path);
  void ReadSflow(const std::string& path);
  void ReadCounters(const std::string& path);

  const topology::Fabric& fabric;
  std::map<Session, MirrorSums> sessions;
  std::vector<FrameSums> mirrored;  // by input port, for sessions with port information
  std::map<topology::NodeIndex, Sequence> postcards;
  std::vector<uint64_t> reported_in;  // by ingress port
  std::vector<FrameSums> reported;    // by egress port
  std::vector<SampleSums> samples;    // by ingress port
  std::vector<PortCounts> counters;   // of switch ports and NICs
  int64_t counters_read_ns = 0;       // time of the last reading
  uint64_t strange = 0;
};

}  // namespace rocescope::sim::test

// SPDX-License-Identifier: BSD-3-Clause
// What the files of a simulated run say of its frames, summed up by port: the mirrored copies, the
// INT postcards, the sFlow samples, the last reading of each counter. To hold one against the
// other.
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
  uint64_t bytes = 0;  // without FCS, as the frames' IP headers tell them
  uint64_t ce_marked = 0;
};

// Numbered from 0 by who sends, in order; what is missing was lost on the way to the box.
struct Sequence {
  uint64_t arrived = 0;
  uint64_t next = 0;  // the highest number, and one
  uint64_t backwards = 0;

  void Add(uint64_t number) {
    ++arrived;
    backwards += number < next;
    next = number + 1;
  }
  uint64_t Gaps() const { return next - arrived; }
};

struct MirrorSums {  // of a session that does not name its ports, and one that does
  Sequence sequence;
  FrameSums sums;
};

struct SampleSums {       // of a port
  Sequence samples;       // of packets; sFlow counts from 1, this from 0
  uint64_t pool = 0;      // of the last one
  Sequence discards;      // dropped packets, likewise
  uint64_t missed = 0;    // of these, by the agent, until its last one
  uint64_t readings = 0;  // of its counters, and what the last one said: frames, octets with FCS
  uint64_t received = 0;
  uint64_t received_bytes = 0;
};

struct PortCounts {
  std::array<uint64_t, kMetricCount> last{};     // of the port, or the sum over its priorities
  std::array<uint64_t, kMetricCount> highest{};  // of any reading, of any priority
  uint64_t operator[](Metric metric) const { return last[static_cast<size_t>(metric)]; }
};

// Places are those of the fabric.
struct RunFiles {
  using Session = std::pair<topology::NodeIndex, uint32_t>;

  explicit RunFiles(const topology::Fabric& the_fabric);

  // A capture that is not there has nothing. What cannot be read is counted in `strange`.
  void ReadMirror(const std::string& path);
  void ReadInt(const std::string& path);
  void ReadSflow(const std::string& path);
  void ReadCounters(const std::string& path);

  const topology::Fabric& fabric;
  std::map<Session, MirrorSums> sessions;
  std::vector<FrameSums> mirrored;  // by port that they came in at, of sessions that name it
  std::map<topology::NodeIndex, Sequence> postcards;
  std::vector<uint64_t> reported_in;  // by ingress port
  std::vector<FrameSums> reported;    // by egress port
  std::vector<SampleSums> samples;    // by ingress port
  std::vector<PortCounts> counters;   // of switches' ports and NICs'
  int64_t counters_read_ns = 0;       // the last time
  uint64_t strange = 0;
};

}  // namespace rocescope::sim::test

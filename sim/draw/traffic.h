// SPDX-License-Identifier: BSD-3-Clause
// What would go where if nothing went wrong: from the very queue pairs, hash seeds and routes that
// the run will have, so that a fault's place is one that traffic passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/draw/outline.h"

namespace rocescope::sim {

struct Flow {
  uint32_t job = 0;
  topology::NicIndex from = 0;
  topology::NicIndex to = 0;
  std::vector<topology::PortIndex> ports;  // that send its frames: the NIC's, then switches'
  double frames = 0;                       // of data, a second, on average
};

class Traffic {
 public:
  // `scenario` is the outline's text. Starts no simulation, but makes one: see sim/engine.
  static Result<Traffic> Of(const Outline& outline, std::string_view scenario);

  const std::vector<Flow>& flows() const { return flows_; }  // of jobs; none is empty
  double FramesBy(topology::PortIndex port) const { return frames_[port]; }  // a second

 private:
  std::vector<Flow> flows_;
  std::vector<double> frames_;  // by port
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// Predicts the traffic of a healthy run from the same queue pairs, hash seeds and routes that the
// run uses, so that a fault can be placed where traffic passes.
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
  // Egress ports on the path: the NIC's, then the switches'.
  std::vector<topology::PortIndex> ports;
  double frames = 0;  // average data frames per second
};

class Traffic {
 public:
  // `scenario` is the YAML text of the outline. Creates a network but does not run it; see
  // sim/engine for the limit of one engine at a time.
  static Result<Traffic> Of(const Outline& outline, std::string_view scenario);

  const std::vector<Flow>& flows() const { return flows_; }  // flows of jobs; none has zero frames

 private:
  std::vector<Flow> flows_;
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// Sampling rates of ports such that the appliance gets at most the requested number of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "appliance/cli/plan/mirror_plan.h"

namespace rocescope::plan {

inline constexpr uint16_t kSflowPort = 6343;       // assigned by IANA
inline constexpr uint16_t kIntReportPort = 32766;  // default port of rocescope

struct SflowRate {
  uint64_t port_bits_per_second = 0;
  size_t ports = 0;
  // One of this many packets is sampled. A power of two, or a limit of the platform.
  uint64_t one_in = 0;
  double samples_per_second = 0;  // from these ports, at the utilisation
};

struct SflowPlan {
  std::vector<SflowRate> rates;                // by port speed
  std::vector<topology::NodeIndex> switches;   // switches that sample
  std::vector<topology::NodeIndex> mirroring;  // switches that do not sample because they mirror
  std::vector<topology::NodeIndex>
      unnamed;  // switches that do not sample because the fabric has no sflow_agent for them
  double samples_per_second = 0;

  // Returns 0 if no port has that speed.
  uint64_t RateOf(uint64_t port_bits_per_second) const;
};

// Sampling rates are proportional to the port speed, so that each port yields the same number of
// samples. If any switch supports only one rate for all its ports, the whole fabric has one rate.
SflowPlan PlanSflow(const topology::Fabric& fabric, const PlanOptions& options,
                    const Settings& settings, const MirrorPlan& mirrors);

}  // namespace rocescope::plan

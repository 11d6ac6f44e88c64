// SPDX-License-Identifier: BSD-3-Clause
// At which rate each port is sampled so that the appliance gets no more samples than it is given.
#pragma once

#include <cstdint>
#include <vector>

#include "appliance/cli/plan/mirror_plan.h"

namespace rocescope::plan {

inline constexpr uint16_t kSflowPort = 6343;       // IANA
inline constexpr uint16_t kIntReportPort = 32766;  // as rocescope listens by default

struct SflowRate {
  uint64_t port_bits_per_second = 0;
  size_t ports = 0;
  uint64_t one_in = 0;            // packets of which one is sampled; a power of two, or a bound
  double samples_per_second = 0;  // from these ports, at the utilisation
};

struct SflowPlan {
  std::vector<SflowRate> rates;                // by speed of port
  std::vector<topology::NodeIndex> switches;   // that sample
  std::vector<topology::NodeIndex> mirroring;  // that do not, because they mirror
  std::vector<topology::NodeIndex> unnamed;  // that do not, as the fabric has no sflow_agent there
  double samples_per_second = 0;

  // 0 if no port has that speed.
  uint64_t RateOf(uint64_t port_bits_per_second) const;
};

// Rates in proportion to speed give each port equally many samples, however fast it is; where a
// switch has one rate for all its ports, it is one for the fabric.
SflowPlan PlanSflow(const topology::Fabric& fabric, const PlanOptions& options,
                    const Settings& settings, const MirrorPlan& mirrors);

}  // namespace rocescope::plan

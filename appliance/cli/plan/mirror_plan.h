// SPDX-License-Identifier: BSD-3-Clause
// The sessions of a choice of ports, their collectors, and the resulting load.
#pragma once

#include <string_view>
#include <vector>

#include "appliance/cli/plan/machine_need.h"
#include "appliance/cli/plan/options.h"
#include "appliance/cli/plan/packet_load.h"
#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::plan {

// Maximum load of a collector port as a share of its speed; the rest is headroom for bursts.
inline constexpr double kFullShare = 0.9;

// The name on the command line ("nics-both"), and a description.
std::string_view WordOf(MirrorChoice choice);
std::string_view MeaningOf(MirrorChoice choice);

// Returns the options with the platform's defaults.
struct Settings {
  const Platform* platform = nullptr;
  PacketShape shape;
  bool names_port = false;
  bool tells_direction = false;  // ERSPAN type III only
  bool has_sessions = false;     // types II and III
};
// The error names the options that the platform does not support.
Result<Settings> SettingsOf(const PlanOptions& options);

struct MirrorSession {
  topology::Tap tap;
  size_t collector = 0;
  Load line_rate;  // line rate of its copies
};

struct CollectorLoad {
  size_t sessions = 0;
  Load line_rate;
  double foreign_bits_per_second =
      0;  // part of the load that comes from other switches than the collector's
};

// Coverage, 0 to 1, for uniform all-to-all traffic.
struct Coverage {
  double nics_sending = 0;    // NICs whose sent packets are all observed
  double nics_receiving = 0;  // NICs whose received packets are all observed
  double pairs = 0;           // ordered pairs of NICs whose packets are observed
  double fabric_links = 0;    // links between switches that are observed, counted by direction
};

struct MirrorPlan {
  MirrorChoice choice = MirrorChoice::kNics;
  std::vector<MirrorSession> sessions;  // by switch
  std::vector<CollectorLoad> collectors;
  Coverage coverage;
  size_t ports = 0;    // mirrored
  double fullest = 0;  // load of the fullest collector as a share of its speed, at the utilisation
  MachineNeed need;
  bool fits_machine = true;  // whether the options' cores and memory are sufficient

  bool FitsLinks() const { return fullest <= kFullShare; }
  bool Fits() const { return !sessions.empty() && FitsLinks() && fits_machine; }
};

// For kSomeNics: with as many ports as fit, maybe none.
MirrorPlan PlanMirrors(const topology::Fabric& fabric, const PlanOptions& options,
                       const Settings& settings, MirrorChoice choice);

// Returns what the sessions of `plan` observe.
Coverage CoverageOf(const topology::Fabric& fabric, const MirrorPlan& plan);

}  // namespace rocescope::plan

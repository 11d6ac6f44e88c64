// SPDX-License-Identifier: BSD-3-Clause
// Which sessions a choice of ports makes, where their copies go, and what they weigh.
#pragma once

#include <string_view>
#include <vector>

#include "appliance/cli/plan/options.h"
#include "appliance/cli/plan/packet_load.h"
#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::plan {

// A collector's port is full above this share of its speed: bursts need the rest.
inline constexpr double kFullShare = 0.9;

// "nics-both", as the command line has it; and what it is, in words.
std::string_view WordOf(MirrorChoice choice);
std::string_view MeaningOf(MirrorChoice choice);

// Options with the platform's values where nothing was asked for.
struct Settings {
  const Platform* platform = nullptr;
  PacketShape shape;
  bool names_port = false;
  bool tells_direction = false;  // ERSPAN type III alone
  bool has_sessions = false;     // types II and III
};
// The error says which options the platform cannot do.
Result<Settings> SettingsOf(const PlanOptions& options);

struct MirrorSession {
  topology::Tap tap;
  size_t collector = 0;
  Load line_rate;  // of its copies
};

struct CollectorLoad {
  size_t sessions = 0;
  Load line_rate;
  double foreign_bits_per_second = 0;  // of it, from other switches than the collector's
};

// How much is seen, 0 to 1, were every pair of NICs to talk alike.
struct Coverage {
  double nics_sending = 0;    // NICs of which what they send is seen
  double nics_receiving = 0;  // likewise what reaches them
  double pairs = 0;           // of ordered pairs of NICs, those whose packets are seen
  double fabric_links = 0;    // of links between switches and their directions, those watched
};

struct MirrorPlan {
  MirrorChoice choice = MirrorChoice::kNics;
  std::vector<MirrorSession> sessions;  // by switch
  std::vector<CollectorLoad> collectors;
  Coverage coverage;
  size_t ports = 0;    // mirrored
  double fullest = 0;  // share of its speed that the fullest collector gets, at the utilisation

  bool Fits() const { return !sessions.empty() && fullest <= kFullShare; }
};

// Of kSomeNics: with as many ports as fit, maybe none.
MirrorPlan PlanMirrors(const topology::Fabric& fabric, const PlanOptions& options,
                       const Settings& settings, MirrorChoice choice);

// What the sessions of `plan` see.
Coverage CoverageOf(const topology::Fabric& fabric, const MirrorPlan& plan);

}  // namespace rocescope::plan

// SPDX-License-Identifier: BSD-3-Clause
// Fabrics out of what other programs describe: Slurm's topology.conf, containerlab's topologies,
// the cabling plans of PTM (Cumulus, SONiC). What a format does not say is given by options.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

enum class Format : uint8_t { kSlurm, kContainerlab, kPtm };

// None of the formats has speeds, delays, GPUs, addresses or what telemetry calls a switch.
struct ConvertOptions {
  uint64_t bits_per_second = 100'000'000'000;
  Duration delay = std::chrono::microseconds(1);
  uint32_t gpus_per_host = 0;   // GPU g is nearest to NIC g * NICs / GPUs
  uint32_t nics_per_host = 1;   // Slurm: cables from a node to its switch
  uint32_t parallel_links = 1;  // Slurm: cables from a switch to the one above
  // Names of nodes by tier, with * and ? (fnmatch); they go before all else.
  std::array<std::vector<std::string>, kTierCount> names_of_tier;
};

struct Conversion {
  Fabric fabric;
  std::vector<std::string> notes;  // what was assumed, for people
};

// Of containerlab and PTM, whose ports have names, a switch's ports are numbered as LoadFabric's
// that links name; Slurm names none, and they are Ethernet1... in the order of mention. Tiers,
// where no option tells:
//   Slurm         a switch with nodes is a leaf, each other one a tier above those below it
//   containerlab  kind linux is a host; else by `group`, the name, the distance from hosts
//   PTM           by a node's attribute `function`, the name; all else is a host
// A name that contains leaf, tor or edge is a leaf's, with spine or agg a spine's, with superspine,
// super-spine or core a core's. NICs are called as the host's ports, are of the rails 0, 1... in
// the order of mention, and have no addresses. Where there are cores, leaves and spines that hang
// together without them are a pod.
//
// Errors are "FILE:LINE:COLUMN: what is wrong", one a line.
Result<Conversion> ConvertSlurm(std::string_view text, std::string_view file,
                                const ConvertOptions& options);
Result<Conversion> ConvertContainerlab(std::string_view text, std::string_view file,
                                       const ConvertOptions& options);
Result<Conversion> ConvertPtm(std::string_view text, std::string_view file,
                              const ConvertOptions& options);

Result<Conversion> Convert(Format format, std::string_view text, std::string_view file,
                           const ConvertOptions& options);

// By the name's end: .conf, .clab.yml or .clab.yaml, .dot or .gv; nullopt for others.
std::optional<Format> FormatOfName(std::string_view file);

}  // namespace rocescope::topology

// SPDX-License-Identifier: BSD-3-Clause
// Converts the files of other programs to fabrics: Slurm's topology.conf, containerlab topologies,
// and cabling plans of PTM (Cumulus, SONiC). Options supply what a format does not contain.
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

// None of the formats contains speeds, delays, GPUs, addresses or the switch ids used in telemetry.
struct ConvertOptions {
  uint64_t bits_per_second = 100'000'000'000;
  Duration delay = std::chrono::microseconds(1);
  uint32_t gpus_per_host = 0;   // the nearest NIC of GPU g is g * NICs / GPUs
  uint32_t nics_per_host = 1;   // Slurm: links from a node to its switch
  uint32_t parallel_links = 1;  // Slurm: links from a switch to the one above
  // Name patterns for each tier, with * and ? (fnmatch). They take precedence over all other rules.
  std::array<std::vector<std::string>, kTierCount> names_of_tier;
};

struct Conversion {
  Fabric fabric;
  std::vector<std::string> notes;  // assumptions, for the user
};

// Ports of containerlab and PTM have names; a switch's ports are numbered as LoadFabric numbers
// unlisted ports. Slurm has no port names; ports are Ethernet1... in the order of mention. Tiers,
// unless set by options:
//   Slurm         a switch with nodes is a leaf; any other is one tier above its highest child
//   containerlab  kind linux is a host; otherwise `group`, the name, the distance from hosts
//   PTM           a node's attribute `function`, then the name; all others are hosts
// A name that contains leaf, tor or edge means leaf; spine or agg means spine; superspine,
// super-spine or core means core. NICs have the names of the host's ports, have the rails 0, 1...
// in the order of mention, and have no addresses. If the fabric has cores, each set of leaves and
// spines that is connected without the cores forms a pod.
//
// Errors have the form "FILE:LINE:COLUMN: what is wrong", one per line.
Result<Conversion> ConvertSlurm(std::string_view text, std::string_view file,
                                const ConvertOptions& options);
Result<Conversion> ConvertContainerlab(std::string_view text, std::string_view file,
                                       const ConvertOptions& options);
Result<Conversion> ConvertPtm(std::string_view text, std::string_view file,
                              const ConvertOptions& options);

Result<Conversion> Convert(Format format, std::string_view text, std::string_view file,
                           const ConvertOptions& options);

// Determines the format from the file name: .conf, .clab.yml or .clab.yaml, .dot or .gv; nullopt
// for others.
std::optional<Format> FormatOfName(std::string_view file);

}  // namespace rocescope::topology

// SPDX-License-Identifier: BSD-3-Clause
// Fabrics by a few numbers: a star, leaf and spine, a k-ary fat tree; the latter two with hosts in
// racks or rail-optimised.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

enum class Shape : uint8_t {
  kStar,       // one leaf switch
  kLeafSpine,  // two tiers, each leaf linked to each spine
  // k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 NICs (Al-Fares, Loukissas, Vahdat: A
  // scalable, commodity data center network architecture, SIGCOMM 2008).
  kFatTree,
};

// Names are host0..., leaf0..., spine0..., core0... A switch's ports are Ethernet1..., those
// towards hosts first; a host's are mlx5_0... Every switch has an INT id (1...) and the address
// 172.16.0.0 + id as ERSPAN source and sFlow agent; NIC n of host h has 10.n.0.0 + h + 1 in
// segment 0 and is of rail n. GPU g is nearest to NIC g * NICs / GPUs, whose rail it shares.
// There are no taps.
struct Blueprint {
  Shape shape = Shape::kLeafSpine;
  std::string name;    // empty: that of the shape
  uint32_t hosts = 0;  // 0, of a fat tree alone: as many as fit
  uint32_t nics_per_host = 1;
  std::optional<uint32_t> gpus_per_host;  // if not said, as many as NICs

  // In racks: all NICs of a host go to one leaf; hosts fill the leaves evenly and in order.
  // Rail-optimised: NICs of rail n alone go to a leaf, so that a group of hosts has as many leaves
  // as a host has NICs (Wang et al.: Rail-only, HOTI 2024; NVIDIA DGX SuperPOD's scalable unit).
  bool rail_optimised = false;

  uint32_t leaves = 0;  // leaf and spine
  uint32_t spines = 0;
  uint32_t parallel_links = 1;  // between a leaf and a spine

  uint32_t k = 0;  // fat tree: even

  // In place of host0...; as many as there are, or none.
  std::vector<std::string> host_names;
  std::vector<std::string> leaf_names;
  std::vector<std::string> spine_names;
  std::vector<std::string> core_names;

  uint64_t host_bits_per_second = 100'000'000'000;
  uint64_t fabric_bits_per_second = 100'000'000'000;  // between switches
  Duration host_delay = std::chrono::microseconds(1);
  Duration fabric_delay = std::chrono::microseconds(1);
};

// To be changed before Fabric::Make. The error names the number that does not fit.
Result<Fabric::Parts> GenerateParts(const Blueprint& blueprint);
Result<Fabric> Generate(const Blueprint& blueprint);

}  // namespace rocescope::topology

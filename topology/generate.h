// SPDX-License-Identifier: BSD-3-Clause
// Generates fabrics from a few numbers: a star, leaf-spine, or a k-ary fat tree. The last two have
// hosts in racks or are rail-optimised.
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
  // A k-ary fat tree: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores, k^3/4 NICs (Al-Fares,
  // Loukissas, Vahdat: A scalable, commodity data center network architecture, SIGCOMM 2008).
  kFatTree,
};

// Nodes are named host0..., leaf0..., spine0..., core0... Switch ports are named Ethernet1...,
// those towards hosts first; host ports are named mlx5_0... Every switch has an INT id (1...) and
// uses the address 172.16.0.0 + id as ERSPAN source and sFlow agent. NIC n of host h has the
// address 10.n.0.0 + h + 1 in segment 0 and belongs to rail n. The nearest NIC of GPU g is g * NICs
// / GPUs, and the GPU has the rail of that NIC. There are no taps.
struct Blueprint {
  Shape shape = Shape::kLeafSpine;
  std::string name;    // empty: the name of the shape
  uint32_t hosts = 0;  // 0 (fat tree only): as many as fit
  uint32_t nics_per_host = 1;
  std::optional<uint32_t> gpus_per_host;  // unset: as many as NICs

  // In racks, all NICs of a host are connected to one leaf, and hosts fill the leaves evenly and in
  // order. If rail-optimised, a leaf connects only NICs of one rail, so that a group of hosts has
  // as many leaves as a host has NICs (Wang et al.: Rail-only, HOTI 2024; NVIDIA DGX SuperPOD's
  // scalable unit).
  bool rail_optimised = false;

  uint32_t leaves = 0;  // for leaf-spine
  uint32_t spines = 0;
  uint32_t parallel_links = 1;  // between a leaf and a spine

  uint32_t k = 0;  // for a fat tree; even

  // Names instead of host0...: one for each host, or none.
  std::vector<std::string> host_names;
  std::vector<std::string> leaf_names;
  std::vector<std::string> spine_names;
  std::vector<std::string> core_names;

  uint64_t host_bits_per_second = 100'000'000'000;
  uint64_t fabric_bits_per_second = 100'000'000'000;  // between switches
  Duration host_delay = std::chrono::microseconds(1);
  Duration fabric_delay = std::chrono::microseconds(1);
};

// Returns parts that may be changed before Fabric::Make. The error names the invalid number.
Result<Fabric::Parts> GenerateParts(const Blueprint& blueprint);
Result<Fabric> Generate(const Blueprint& blueprint);

}  // namespace rocescope::topology

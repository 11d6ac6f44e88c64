// SPDX-License-Identifier: BSD-3-Clause
// What can go wrong in a fabric: each kind with the place that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/time.h"
#include "topology/fabric.h"

namespace rocescope::sim {

enum class FaultKind : uint8_t {
  kLinkDown,
  kFlap,
  kDegradedRate,
  kAddedLatency,
  kGrayLoss,
  kBitErrors,
  kCorruption,
  kPolarisation,
  kBlackhole,
  kSwitchCrash,
  kIncast,
  kSlowReceiver,
  kPfcStorm,
  kMisconfiguredEcn,
  kMisconfiguredAlpha,
  kStraggler,
  kNoisyNeighbour,
  kNicCrash,
  kMtuMismatch,
  kLostCnps,
  kDeprioritisedCnps,
  kPfcDeadlock,
  kSwappedCables,
  kCount
};
inline constexpr size_t kFaultKinds = static_cast<size_t>(FaultKind::kCount);

enum class FaultPlace : uint8_t { kLink, kSwitch, kNic, kGpu };

struct FaultInfo {
  std::string_view name;  // in scenarios and truth
  std::string_view sentence;
  FaultPlace place;
};
extern const std::array<FaultInfo, kFaultKinds> kFaults;
inline const FaultInfo& InfoOf(FaultKind kind) { return kFaults[static_cast<size_t>(kind)]; }
std::optional<FaultKind> FindFault(std::string_view name);

// Which numbers mean something depends on the kind; the others are not looked at.
struct FaultOptions {
  FaultKind kind = FaultKind::kLinkDown;
  SimTime onset = 0;
  SimTime duration = kNever;  // kNever: until the run ends

  // The place.
  topology::LinkIndex link = topology::kNone;
  topology::PortIndex sender = topology::kNone;  // one way only: frames that this port sends
  // swapped_cables: the ports whose cables are in each other's place; `link` is that of the first.
  std::array<topology::PortIndex, 2> swapped = {topology::kNone, topology::kNone};
  topology::NodeIndex node = topology::kNone;
  topology::NicIndex nic = topology::kNone;
  topology::GpuIndex gpu = topology::kNone;

  double probability = 0.01;      // of a frame: gray_loss, bit_errors, corruption, lost_cnps
  double burst = 1;               // frames: gray_loss, bit_errors
  uint32_t least_length = 0;      // octets: gray_loss
  double factor = 0.25;           // of the rate that is left: degraded_rate; slower: straggler (4)
  SimTime delay = 0;              // added_latency
  SimTime period = kMillisecond;  // of a flap, half of it down
  double rate = 10e9;             // bit/s: slow_receiver
  uint32_t mtu = 1500;            // mtu_mismatch
  double alpha = 1.0 / 256;       // misconfigured_alpha
  uint64_t ecn_minimum = 8u << 20;  // misconfigured_ecn: octets, marks too late
  uint64_t ecn_maximum = 9u << 20;
  std::vector<topology::NicIndex> senders;  // incast, noisy_neighbour
  uint64_t message = 1u << 20;              // octets, theirs
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/fault.h"

namespace rocescope::sim {

const std::array<FaultInfo, kFaultKinds> kFaults = {{
    {"link_down", "a link carries nothing; routing avoids it after a while", FaultPlace::kLink},
    {"flap", "a link goes down and up, again and again", FaultPlace::kLink},
    {"degraded_rate", "a link is slower than it should be", FaultPlace::kLink},
    {"added_latency", "a link takes longer, as by more error correction", FaultPlace::kLink},
    {"gray_loss", "a link loses frames and counts nothing", FaultPlace::kLink},
    {"bit_errors", "a link damages frames: the next MAC drops and counts them", FaultPlace::kLink},
    {"corruption", "a switch damages frames: good FCS, bad iCRC", FaultPlace::kSwitch},
    {"polarisation", "a switch hashes addresses alone, so flows share few links",
     FaultPlace::kSwitch},
    {"blackhole", "a switch forwards one destination to nowhere", FaultPlace::kSwitch},
    {"switch_crash", "a switch is gone for a while", FaultPlace::kSwitch},
    {"incast", "many hosts send to one NIC at once", FaultPlace::kNic},
    {"slow_receiver", "a host takes frames more slowly than they come", FaultPlace::kNic},
    {"pfc_storm", "a NIC pauses its link all the time", FaultPlace::kNic},
    {"misconfigured_ecn", "a switch marks too late", FaultPlace::kSwitch},
    {"misconfigured_alpha", "a switch pauses too early", FaultPlace::kSwitch},
    {"straggler", "a GPU computes more slowly than the others", FaultPlace::kGpu},
    {"noisy_neighbour", "hosts outside of the job load the links that it uses", FaultPlace::kNic},
    {"nic_crash", "a NIC is gone", FaultPlace::kNic},
    {"mtu_mismatch", "a switch drops frames of the size that hosts send", FaultPlace::kSwitch},
    {"lost_cnps", "a switch loses congestion notifications", FaultPlace::kSwitch},
    {"deprioritised_cnps", "a switch queues congestion notifications behind data",
     FaultPlace::kSwitch},
    {"pfc_deadlock", "routes with a valley let pauses wait for each other in a loop",
     FaultPlace::kLink},
    {"swapped_cables", "two cables are plugged into each other's place", FaultPlace::kLink},
}};

std::optional<FaultKind> FindFault(std::string_view name) {
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (kFaults[i].name == name) return static_cast<FaultKind>(i);
  }
  return std::nullopt;
}

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// What can be wrong with a fabric or those who use it: one row of a table yields the enumerator,
// the name in reports, what is said of it, and what to do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

// Where a fault is: what somebody has to walk to, or log in to.
enum class PlaceKind : uint8_t { kLink, kSwitch, kNic, kGpu };

// name, place, sentence ("PLACE sentence"), remedy
#define ROCESCOPE_FINDING_KINDS(ROW)                                                               \
  ROW(LinkDown, "link_down", Link, "carries nothing: it is down",                                  \
      "reseat or replace the cable or transceiver; routing has to leave the link out until then")  \
  ROW(Flap, "flap", Link, "goes down and up again and again",                                      \
      "shut the link, so that routing settles, then replace its cable or transceiver")             \
  ROW(DegradedRate, "degraded_rate", Link, "is slower than it should be",                          \
      "look at lanes and autonegotiation at both ends; drain the link until it has its speed "     \
      "back")                                                                                      \
  ROW(AddedLatency, "added_latency", Link, "takes longer than it did",                             \
      "look at error correction and retimers at both ends, and at what an optical layer rerouted") \
  ROW(GrayLoss, "gray_loss", Link, "loses packets, and nobody counts them",                        \
      "drain the link and replace its transceivers, the sender's first")                           \
  ROW(BitErrors, "bit_errors", Link, "damages frames, which the next port drops",                  \
      "clean or replace the cable or transceiver; take the link out of routing until then")        \
  ROW(Corruption, "corruption", Switch, "damages packets inside: frames are whole, contents not",  \
      "drain it and have its memory and its inner links tested; replace it")                       \
  ROW(Polarisation, "polarisation", Switch, "sends flows that should spread by few of its links",  \
      "let its hash take UDP ports in, with a seed of its own")                                    \
  ROW(Blackhole, "blackhole", Switch, "forwards some destinations to nowhere",                     \
      "compare its forwarding table with its routes, and have the entry written anew")             \
  ROW(SwitchCrash, "switch_crash", Switch, "is gone, with all of its links",                       \
      "look at its console and power; keep its neighbours from routing over it")                   \
  ROW(Incast, "incast", Nic, "gets more from many senders at once than its link takes",            \
      "spread or pace the senders, or move them from this receiver")                               \
  ROW(SlowReceiver, "slow_receiver", Nic, "takes packets more slowly than they come, and pauses",  \
      "look at the host: PCIe width and speed, IOMMU, memory; drain it")                           \
  ROW(PfcStorm, "pfc_storm", Nic, "pauses its link without end",                                   \
      "reset the NIC and replace it if it does so again; enable the switches' PFC watchdog")       \
  ROW(MisconfiguredEcn, "misconfigured_ecn", Switch, "marks too late: queues fill up unmarked",    \
      "set the marking thresholds that other switches have")                                       \
  ROW(MisconfiguredAlpha, "misconfigured_alpha", Switch, "pauses its neighbours too early",        \
      "set the buffer's alpha and XOFF thresholds that other switches have")                       \
  ROW(Straggler, "straggler", Gpu, "computes more slowly than its peers, who wait for it",         \
      "look at its clock, temperature and ECC errors; move the rank to another GPU")               \
  ROW(NoisyNeighbour, "noisy_neighbour", Nic,                                                      \
      "shares its link with traffic that is not its job's",                                        \
      "pace or move the senders, or give the job a queue of its own")                              \
  ROW(NicCrash, "nic_crash", Nic, "is gone",                                                       \
      "reset the NIC or its host; take the host from the scheduler until then")                    \
  ROW(MtuMismatch, "mtu_mismatch", Switch, "drops packets of a size that hosts send",              \
      "set the MTU of its ports to that of the fabric")                                            \
  ROW(LostCnps, "lost_cnps", Switch, "loses congestion notifications",                             \
      "look at its policers and at the queue that the notifications' DSCP maps to")                \
  ROW(DeprioritisedCnps, "deprioritised_cnps", Switch,                                             \
      "queues congestion notifications behind data",                                               \
      "map the notifications' DSCP to the strict-priority queue")                                  \
  ROW(PfcDeadlock, "pfc_deadlock", Link, "is part of a loop of ports that pause each other",       \
      "break the loop: shut one of its links; then find the route that goes down and up again")    \
  ROW(SwappedCables, "swapped_cables", Link, "is plugged into another port than declared",         \
      "put the cables where they belong, or correct the topology")

enum class FindingKind : uint8_t {
#define ROW(id, name, place, sentence, recommended_action) k##id,
  ROCESCOPE_FINDING_KINDS(ROW)
#undef ROW
      kCount,
};
inline constexpr size_t kFindingKinds = static_cast<size_t>(FindingKind::kCount);

struct FindingInfo {
  std::string_view name;
  PlaceKind place;
  std::string_view sentence;
  std::string_view recommended_action;
};
inline constexpr std::array<FindingInfo, kFindingKinds> kFindingInfos = {{
#define ROW(id, name, place, sentence, recommended_action) {name, PlaceKind::k##place, sentence, recommended_action},
    ROCESCOPE_FINDING_KINDS(ROW)
#undef ROW
}};

constexpr const FindingInfo& InfoOf(FindingKind kind) {
  return kFindingInfos[static_cast<size_t>(kind)];
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The registry of fault kinds: one row for each kind. The simulator, the diagnosis, the score, the
// placement and the reports all read these rows. CONTRIBUTING.md says how to add a kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "topology/fault/need.h"

namespace rocescope {

// The element that an operator has to repair or reconfigure.
enum class PlaceKind : uint8_t { kLink, kSwitch, kNic, kGpu };

constexpr std::string_view NameOf(PlaceKind place) {
  switch (place) {
    case PlaceKind::kLink:
      return "link";
    case PlaceKind::kSwitch:
      return "switch";
    case PlaceKind::kNic:
      return "NIC";
    case PlaceKind::kGpu:
      return "GPU";
  }
  return {};
}

// Each row has the enumerator (without its k) and the fields of FaultInfo.
#define ROCESCOPE_FAULT_KINDS(ROW)                                                                 \
  ROW(LinkDown, .name = "link_down", .place = kLink, .sentence = "down, carries no traffic",       \
      .action =                                                                                    \
          "reseat or replace the cable or transceiver; keep the link out of routing until then",   \
      .plural = "links that are down", .need = Need::kLinkStates, .loses_packets = true,           \
      .is_routed_around = true,                                                                    \
      .explains_nearby = {kGrayLoss, kBlackhole, kDegradedRate, kSlowReceiver, kAddedLatency,      \
                          kReordering})                                                            \
  ROW(Flap, .name = "flap", .place = kLink,                                                        \
      .sentence = "flapping (goes down and comes up again repeatedly)",                            \
      .action = "shut the link so that routing converges, then replace its cable or transceiver",  \
      .plural = "flapping links", .need = Need::kLinkStates, .loses_packets = true,                \
      .explains_nearby = {kGrayLoss, kBlackhole, kLinkDown, kDegradedRate, kSlowReceiver,          \
                          kAddedLatency, kReordering},                                             \
      .parameters = "period")                                                                      \
  ROW(DegradedRate, .name = "degraded_rate", .place = kLink,                                       \
      .sentence = "runs below its nominal speed",                                                  \
      .action =                                                                                    \
          "check lanes and autonegotiation at both ends; drain the link until it runs at "         \
          "its nominal speed",                                                                     \
      .plural = "links below their nominal speed", .need = Need::kLinkSpeeds,                      \
      .explains_nearby = {kAddedLatency, kSlowReceiver},                                           \
      .explains_anywhere = {kDeprioritisedCnps}, .parameters = "factor, growth")                   \
  ROW(AddedLatency, .name = "added_latency", .place = kLink,                                       \
      .sentence = "latency higher than before (not explained by queues or pauses)",                \
      .action =                                                                                    \
          "check FEC and retimers at both ends, and whether the optical transport network "        \
          "rerouted the link",                                                                     \
      .plural = "links with added latency", .need = Need::kDelays, .placement_cost = 0.4,          \
      .explains_anywhere = {kDeprioritisedCnps}, .parameters = "delay, growth")                    \
  ROW(GrayLoss, .name = "gray_loss", .place = kLink,                                               \
      .sentence = "silent packet loss (no drop counter shows it)",                                 \
      .action = "drain the link and replace its transceivers, the transmitting one first",         \
      .plural = "links with silent packet loss", .need = Need::kLinkSums, .loses_packets = true,   \
      .explains_nearby = {kSlowReceiver, kDeprioritisedCnps},                                      \
      .parameters = "probability, burst, least_length, growth")                                    \
  ROW(BitErrors, .name = "bit_errors", .place = kLink,                                             \
      .sentence = "bit errors (the receiving port drops frames with a wrong FCS)",                 \
      .action =                                                                                    \
          "clean or replace the cable or transceiver; take the link out of routing until "         \
          "then",                                                                                  \
      .plural = "bit errors", .need = Need::kFrameErrors, .loses_packets = true,                   \
      .explains_nearby = {kGrayLoss, kSlowReceiver, kDeprioritisedCnps},                           \
      .parameters = "probability, burst, least_length, growth")                                    \
  ROW(Corruption, .name = "corruption", .place = kSwitch,                                          \
      .sentence = "corrupts packets internally (valid FCS, wrong iCRC)",                           \
      .action = "drain it, test its memory and internal links, and replace it",                    \
      .plural = "switches that corrupt packets", .need = Need::kDamage, .loses_packets = true,     \
      .explains_nearby = {kSlowReceiver}, .parameters = "probability, growth")                     \
  ROW(Polarisation, .name = "polarisation", .place = kSwitch, .is_misconfiguration = true,         \
      .sentence = "hash polarisation (flows use only a few of the equal-cost links)",              \
      .action =                                                                                    \
          "include the UDP source port in the switch's ECMP hash, and give each tier its own "     \
          "hash seed",                                                                             \
      .plural = "hash polarisation", .need = Need::kPaths, .placement_cost = 0.4)                  \
  ROW(Blackhole, .name = "blackhole", .place = kSwitch, .is_misconfiguration = true,               \
      .sentence = "blackhole (silently drops all packets to some destinations)",                   \
      .action = "compare its forwarding table with its routes, and reprogram the wrong entry",     \
      .plural = "blackholes", .need = Need::kSwitchSums, .loses_packets = true,                    \
      .parameters = "nic")                                                                         \
  ROW(SwitchCrash, .name = "switch_crash", .place = kSwitch,                                       \
      .sentence = "switch down, with all of its links",                                            \
      .action = "check its console and power; keep its neighbours from routing through it",        \
      .plural = "switches that are down", .need = Need::kLinkStates, .loses_packets = true,        \
      .is_routed_around = true,                                                                    \
      .explains_nearby = {kLinkDown, kFlap, kNicCrash, kGrayLoss, kBlackhole, kReordering})        \
  ROW(Incast, .name = "incast", .place = kNic,                                                     \
      .sentence = "incast (many senders at once exceed the capacity of its link)",                 \
      .action = "spread or pace the senders, or move them away from this receiver",                \
      .plural = "incast", .need = Need::kSenders, .placement_cost = 0.4,                           \
      .explains_nearby = {kSlowReceiver}, .parameters = "senders, message")                        \
  ROW(SlowReceiver, .name = "slow_receiver", .place = kNic,                                        \
      .sentence = "slow receiver (takes packets too slowly: pauses its link or discards packets)", \
      .action = "check the host's PCIe width and speed, IOMMU and memory; drain it",               \
      .plural = "slow receivers", .need = Need::kSlowAnswers,                                      \
      .explains_anywhere = {kMisconfiguredEcn, kMisconfiguredAlpha}, .parameters = "rate")         \
  ROW(PfcStorm, .name = "pfc_storm", .place = kNic,                                                \
      .sentence = "PFC pause storm (pauses its link continuously)",                                \
      .action = "reset the NIC, and replace it if this recurs; enable the switches' PFC watchdog", \
      .plural = "PFC pause storms", .need = Need::kNicPauses, .loses_packets = true,               \
      .explains_anywhere = {kDeprioritisedCnps, kAddedLatency, kSlowReceiver, kPfcDeadlock,        \
                            kMisconfiguredEcn, kMisconfiguredAlpha, kBlackhole})                   \
  ROW(MisconfiguredEcn, .name = "misconfigured_ecn", .place = kSwitch,                             \
      .is_misconfiguration = true,                                                                 \
      .sentence = "ECN marking threshold too high (queues build up without CE marks)",             \
      .action = "set the ECN marking thresholds that the other switches have",                     \
      .plural = "wrong ECN thresholds", .need = Need::kMarks, .placement_cost = 0.4,               \
      .parameters = "ecn_minimum, ecn_maximum")                                                    \
  ROW(MisconfiguredAlpha, .name = "misconfigured_alpha", .place = kSwitch,                         \
      .is_misconfiguration = true,                                                                 \
      .sentence = "PFC threshold too low (pauses its neighbours too early)",                       \
      .action = "set the buffer alpha and XOFF thresholds that the other switches have",           \
      .plural = "wrong PFC thresholds", .need = Need::kEarlyPauses, .placement_cost = 0.4,         \
      .parameters = "alpha")                                                                       \
  ROW(Straggler, .name = "straggler", .place = kGpu,                                               \
      .sentence = "straggler (computes more slowly than the job's other GPUs, which wait)",        \
      .action = "check its clock, temperature and ECC errors; move the rank to another GPU",       \
      .plural = "stragglers", .need = Need::kGpuClocks, .parameters = "factor, growth")            \
  ROW(NoisyNeighbour, .name = "noisy_neighbour", .place = kNic,                                    \
      .sentence = "noisy neighbour (traffic from outside the job congests its link)",              \
      .action = "pace or move the senders, or give the job a queue of its own",                    \
      .plural = "noisy neighbours", .need = Need::kSenders, .placement_cost = 0.4,                 \
      .explains_nearby = {kSlowReceiver}, .parameters = "senders, message")                        \
  ROW(NicCrash, .name = "nic_crash", .place = kNic, .sentence = "down",                            \
      .action = "reset the NIC or its host; drain the host in the scheduler until then",           \
      .plural = "NICs that are down", .need = Need::kLinkStates, .loses_packets = true,            \
      .explains_nearby = {kSlowReceiver, kAddedLatency, kGrayLoss, kBlackhole})                    \
  ROW(MtuMismatch, .name = "mtu_mismatch", .place = kSwitch, .is_misconfiguration = true,          \
      .sentence = "MTU too small (drops packets of a size that hosts send)",                       \
      .action = "set the MTU of its ports to that of the fabric", .plural = "MTU mismatches",      \
      .need = Need::kMtuDrops, .loses_packets = true, .explains_nearby = {kBlackhole},             \
      .parameters = "mtu")                                                                         \
  ROW(LostCnps, .name = "lost_cnps", .place = kSwitch, .is_misconfiguration = true,                \
      .sentence = "drops CNPs (congestion notification packets)",                                  \
      .action = "check its policers, and the queue that the CNPs' DSCP maps to",                   \
      .plural = "dropped CNPs", .need = Need::kSwitchSums, .placement_cost = 0.4,                  \
      .explains_anywhere = {kDeprioritisedCnps}, .parameters = "probability, growth")              \
  ROW(DeprioritisedCnps, .name = "deprioritised_cnps", .place = kSwitch,                           \
      .is_misconfiguration = true, .sentence = "CNPs deprioritised (queued behind data packets)",  \
      .action = "map the CNPs' DSCP to the strict-priority queue",                                 \
      .plural = "CNPs queued behind data", .need = Need::kCnpDelays, .placement_cost = 0.4)        \
  ROW(PfcDeadlock, .name = "pfc_deadlock", .place = kLink,                                         \
      .sentence = "part of a PFC deadlock (a cycle of ports that pause each other)",               \
      .action =                                                                                    \
          "break the cycle: shut one of its links; then find the valley route (down to a lower "   \
          "tier and up again)",                                                                    \
      .plural = "PFC deadlocks", .need = Need::kLoopPauses, .loses_packets = true,                 \
      .explains_nearby = {kPolarisation}, /* A route that goes down and up uses few links. */      \
      .explains_anywhere = {kDeprioritisedCnps, kAddedLatency, kSlowReceiver, kMisconfiguredEcn,   \
                            kMisconfiguredAlpha, kBlackhole, kIncast, kNoisyNeighbour})            \
  ROW(SwappedCables, .name = "swapped_cables", .place = kLink, .is_misconfiguration = true,        \
      .sentence = "connected to a different port than the topology declares",                      \
      .action = "connect the cables as declared, or correct the topology",                         \
      .plural = "swapped cables", .need = Need::kCables, .placement_cost = 0.4,                    \
      .loses_packets = true,                                                                       \
      .explains_nearby = {kAddedLatency, kGrayLoss, kBitErrors, kLinkDown, kReordering},           \
      .parameters = "other")                                                                       \
  ROW(Reordering, .name = "reordering", .place = kLink,                                            \
      .sentence = "reorders packets of a flow (receivers discard those that arrive too early)",    \
      .action =                                                                                    \
          "check whether it consists of several physical links (LAG, optical transport) that "     \
          "are balanced per packet, and balance them per flow",                                    \
      .plural = "links that reorder packets", .need = Need::kOrder, .loses_packets = true,         \
      .explains_nearby = {kGrayLoss, kSlowReceiver, kAddedLatency},                                \
      .parameters = "probability, delay, growth")

enum class FaultKind : uint8_t {
#define ROW(id, ...) k##id,
  ROCESCOPE_FAULT_KINDS(ROW)
#undef ROW
};

#define ROW(id, ...) +1
inline constexpr size_t kFaultKinds = 0 ROCESCOPE_FAULT_KINDS(ROW);
#undef ROW
static_assert(kFaultKinds <= 64, "FaultKindSet has one bit for each kind");

class FaultKindSet {
 public:
  constexpr FaultKindSet() = default;
  constexpr FaultKindSet(std::initializer_list<FaultKind> kinds) {
    for (const FaultKind kind : kinds) Add(kind);
  }
  constexpr void Add(FaultKind kind) { bits_ |= uint64_t{1} << static_cast<unsigned>(kind); }
  constexpr void Add(FaultKindSet kinds) { bits_ |= kinds.bits_; }
  constexpr bool Contains(FaultKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }

  friend constexpr bool operator==(FaultKindSet, FaultKindSet) = default;

 private:
  uint64_t bits_ = 0;
};

struct FaultInfo {
  std::string_view name;  // in scenarios, truth, reports and metrics
  PlaceKind place;        // where a fault of this kind is
  // It remains until someone corrects it: if its signs end, only the traffic that shows it ended.
  bool is_misconfiguration = false;
  std::string_view sentence;  // what is wrong, after "PLACE: "
  std::string_view action;    // recommended action; starts in lower case, without a full stop
  std::string_view plural;    // several such faults, in lists of what is not detectable
  Need need;                  // telemetry without which the fault cannot be detected

  // Cost for the placement of a job on a node that such a fault affects: 1 makes the node
  // unsuitable. Faults that lose packets, stall or slow down a rail cost 1, because every rank
  // waits for that rail. Incast and noisy neighbours cost less, because they end with the work
  // that causes them.
  double placement_cost = 1;
  bool loses_packets = false;     // senders retransmit because of it
  bool is_routed_around = false;  // routing avoids it: it costs capacity, not packets

  // Fault kinds that the diagnosis treats as consequences of this one: at the same place or an
  // adjacent place (the ends of a link, the links of a switch), or anywhere in the fabric.
  FaultKindSet explains_nearby = {};
  FaultKindSet explains_anywhere = {};

  // What a scenario may set in addition to place and time; sim/fault/fault.h has the defaults.
  std::string_view parameters = {};
};

inline constexpr std::array<FaultInfo, kFaultKinds> kFaultInfos = [] {
  using enum FaultKind;
  using enum PlaceKind;
  return std::array<FaultInfo, kFaultKinds>{{
#define ROW(id, ...) {__VA_ARGS__},
      ROCESCOPE_FAULT_KINDS(ROW)
#undef ROW
  }};
}();

constexpr const FaultInfo& InfoOf(FaultKind kind) { return kFaultInfos[static_cast<size_t>(kind)]; }

constexpr std::optional<FaultKind> FindFaultKind(std::string_view name) {
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (kFaultInfos[i].name == name) return static_cast<FaultKind>(i);
  }
  return std::nullopt;
}

static_assert(
    [] {
      for (size_t i = 0; i < kFaultKinds; ++i) {
        const FaultInfo& info = kFaultInfos[i];
        if (info.name.empty() || info.sentence.empty() || info.action.empty() ||
            info.plural.empty() || FindFaultKind(info.name) != static_cast<FaultKind>(i)) {
          return false;
        }
      }
      return true;
    }(),
    "each fault kind needs a name of its own, a sentence, an action and a plural");

}  // namespace rocescope

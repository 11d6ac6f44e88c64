// SPDX-License-Identifier: BSD-3-Clause
// The telemetry that a fault needs to be detectable. Each fault kind names one need (fault_kind.h);
// the diagnosis determines which needs are met, and reports name the telemetry that is missing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

// need, telemetry that meets it. Reports group needs with the same text.
#define ROCESCOPE_NEEDS(ROW)                                                                     \
  ROW(LinkStates, "link state, speed and error counters of switches or NICs")                    \
  ROW(LinkSpeeds, "link state, speed and error counters of switches or NICs")                    \
  ROW(FrameErrors, "link state, speed and error counters of switches or NICs")                   \
  ROW(LinkSums,                                                                                  \
      "packet counters of both ends of links, or loss counters of NICs and paths of flows "      \
      "(mirrors, INT, sFlow)")                                                                   \
  ROW(SwitchSums,                                                                                \
      "packet and drop counters, and queue lengths, of all ports of a switch, read at the same " \
      "time")                                                                                    \
  ROW(MtuDrops, "MTU drop counters of switches")                                                 \
  ROW(Marks, "counters of switches, with queue and buffer watermarks")                           \
  ROW(EarlyPauses, "counters of switches, with queue and buffer watermarks")                     \
  ROW(NicPauses, "durations of PFC pauses at switches or NICs")                                  \
  ROW(SlowAnswers, "durations of PFC pauses at switches or NICs")                                \
  ROW(LoopPauses, "durations of PFC pauses at switches")                                         \
  ROW(Damage, "both counters of NICs and paths of flows (mirrors, INT, sFlow)")                  \
  ROW(Paths, "both counters and paths of flows (mirrors, INT, sFlow)")                           \
  ROW(Senders, "both mirrored packets and counters of switches")                                 \
  ROW(Delays, "both mirrors of several switches and counters")                                   \
  ROW(Order, "both mirrors of several switches and counters")                                    \
  ROW(CnpDelays, "both mirrors of several switches and counters")                                \
  ROW(Cables, "mirrors of several switches, or counters of both ends of links")                  \
  ROW(GpuClocks, "clocks and memory use of GPUs, or mirrored packets of several iterations")

enum class Need : uint8_t {
#define ROW(id, telemetry) k##id,
  ROCESCOPE_NEEDS(ROW)
#undef ROW
};

#define ROW(id, telemetry) +1
inline constexpr size_t kNeedCount = 0 ROCESCOPE_NEEDS(ROW);
#undef ROW

inline constexpr std::array<std::string_view, kNeedCount> kNeedTelemetry = {
#define ROW(id, telemetry) telemetry,
    ROCESCOPE_NEEDS(ROW)
#undef ROW
};

// Whether the need can only be met if the topology contains links.
constexpr bool RequiresLinks(Need need) {
  switch (need) {
    case Need::kLinkStates:
    case Need::kLinkSpeeds:
    case Need::kFrameErrors:
    case Need::kLinkSums:
    case Need::kSwitchSums:
    case Need::kLoopPauses:
    case Need::kDamage:
    case Need::kPaths:
    case Need::kSenders:
    case Need::kDelays:
    case Need::kOrder:
    case Need::kCnpDelays:
    case Need::kCables:
      return true;
    case Need::kMtuDrops:
    case Need::kMarks:
    case Need::kEarlyPauses:
    case Need::kNicPauses:
    case Need::kSlowAnswers:
    case Need::kGpuClocks:
      break;
  }
  return false;
}

constexpr std::string_view TelemetryFor(Need need) {
  return kNeedTelemetry[static_cast<size_t>(need)];
}

}  // namespace rocescope

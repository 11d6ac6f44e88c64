// SPDX-License-Identifier: BSD-3-Clause
// Constants of the flow model, calibrated against the packet model (calibration_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/engine/time.h"

namespace rocescope::sim {

inline constexpr uint32_t kIpHeaders =
    44;  // IPv4, UDP, BTH, iCRC: bytes in addition to the payload
inline constexpr double kFullFrame = 4154;        // bytes of a frame with 4096 bytes of payload
inline constexpr double kFullFrameOnWire = 4178;  // with FCS, preamble and gap
inline constexpr int32_t kAckFrame = 62;          // bytes
inline constexpr int32_t kGrantFrame = 138;       // bytes of a clear-to-send
inline constexpr int32_t kCnpFrame = 74;          // bytes

// Lanes of a group of ranks.
inline constexpr size_t kMostLanes = 32;
// Limits of the whole run, which are compared with estimates before it. An iteration takes about
// 1 kB of memory, a run of a lane ("flow record" in errors) at most 100 bytes.
inline constexpr double kMostIterations = 500'000;
inline constexpr double kMostLaneRuns = 80e6;

// Share of frames with a CE mark on a congested link, and CNPs per marked frame (the notification
// point sends one in 50 us at most for each queue pair).
inline constexpr double kMarkedShare = 0.01;
inline constexpr double kCnpsPerMark = 0.7;

// A paused port receives PFC frames at this rate, and pauses for this share of the time if the
// thresholds of the switch behind it are too low.
inline constexpr double kPausesPerSecond = 2'000;
inline constexpr double kEarlyPausedShare = 0.05;

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// Constants of the flow model: sizes of frames, limits, and rates of marks and pauses that are
// calibrated against the packet model (calibration_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/engine/time.h"

namespace rocescope::sim {

// Bytes of an IP packet in addition to the payload: IPv4, UDP, BTH and iCRC.
inline constexpr uint32_t kIpHeaders = 44;
inline constexpr double kFullFrame = 4154;        // bytes of a frame with 4096 bytes of payload
inline constexpr double kFullFrameOnWire = 4178;  // with FCS, preamble and gap
inline constexpr int32_t kAckFrame = 62;          // bytes
inline constexpr int32_t kGrantFrame = 138;       // bytes of a clear-to-send
inline constexpr int32_t kCnpFrame = 74;          // bytes

// Maximum number of lanes of a group of ranks, without the lane of flows that cannot pass.
inline constexpr size_t kMostLanes = 32;
// Limits of a scenario. They are compared with estimates before the run starts.
// Iterations of all jobs; each takes about 1 kB of memory.
inline constexpr double kMostIterations = 500'000;
// Executions of a collective by one lane ("flow records" in errors); each takes at most 100 bytes.
inline constexpr double kMostLaneRuns = 80e6;

// Share of the frames that a congested port CE-marks.
inline constexpr double kMarkedShare = 0.01;
// CNPs per CE-marked frame. Less than 1, because a receiver sends at most one CNP per queue pair in
// 50 us.
inline constexpr double kCnpsPerMark = 0.7;

// PFC frames that a paused port receives per second.
inline constexpr double kPausesPerSecond = 2'000;
// Share of the time for which a port is paused if its peer, a switch, is congested and pauses too
// early, or marks too late.
inline constexpr double kEarlyPausedShare = 0.05;

}  // namespace rocescope::sim

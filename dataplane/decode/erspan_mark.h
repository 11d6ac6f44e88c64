// SPDX-License-Identifier: BSD-3-Clause
// A compact copy of an ERSPAN III header. It suffices to recognise a mirror session that was seen
// before (TapTable in dataplane/pipeline), which is much cheaper than parsing the header. Copies
// with equal `who` and `where` have the same capture, switch, session, direction and clock
// granularity, and also the same port unless HasLongPort().
#pragma once

#include <cstdint>

#include "dataplane/wire/mirror.h"

namespace rocescope {

struct ErspanMark {
  static constexpr int kSessionShift = 20;
  static constexpr int kFlagsShift = 16;
  static constexpr uint64_t kPresent = uint64_t{1} << 31;

  // IPv4 source (32 bits), kPresent, session (10 bits), D, Gra and O (4 bits), 16 bits for the
  // capture; 0: no ERSPAN III header.
  uint64_t who = 0;
  uint32_t where = 0;            // ID and info of the platform-specific subheader; 0 without one
  uint32_t timestamp_upper = 0;  // second word of the platform-specific subheader
  uint32_t timestamp = 0;
  uint32_t sequence = 0;

  // Whether the subheader's second word also contains the port, instead of the upper half of the
  // timestamp.
  bool HasLongPort() const { return where >> 26 == 1; }
};

}  // namespace rocescope

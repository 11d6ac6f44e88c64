// SPDX-License-Identifier: BSD-3-Clause
// An ERSPAN III header as it lies in a frame: enough to recognise where the copy was taken among
// those that were seen before (lcore's TapTable), for a fraction of what it costs to understand it.
// Copies with equal `who` and `where` have the same capture, switch, session, direction and kind of
// clock; and the same port, unless HasLongPort.
#pragma once

#include <cstdint>

#include "dataplane/wire/mirror.h"

namespace rocescope {

struct ErspanMark {
  static constexpr int kSessionShift = 20;
  static constexpr int kFlagsShift = 16;
  static constexpr uint64_t kPresent = uint64_t{1} << 31;

  uint64_t who = 0;    // IPv4 source (32 bits), kPresent, session (10 bits), D, Gra and O (4 bits),
                       // room for the capture (16 bits); 0: there is no such header
  uint32_t where = 0;  // the platform sub-header's id and info; 0 without one
  uint32_t timestamp_upper = 0;  // its second word
  uint32_t timestamp = 0;
  uint32_t sequence = 0;

  // The port is in the second word, beside no upper half of a time.
  bool HasLongPort() const { return where >> 26 == 1; }
};

}  // namespace rocescope

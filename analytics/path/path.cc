// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/path.h"

#include <algorithm>

namespace rocescope {

uint64_t BytesWithin(const PathInterval& stretch, Timestamp from, Timestamp until) {
  const Timestamp begin = std::max(stretch.from, from);
  const Timestamp end = std::min(stretch.until, until);
  if (end < begin || begin >= until) return 0;
  const auto whole = static_cast<double>((stretch.until - stretch.from).count());
  if (whole <= 0) return stretch.bytes;  // a single packet
  const auto part = static_cast<double>((end - begin).count());
  return static_cast<uint64_t>(static_cast<double>(stretch.bytes) * part / whole);
}

}  // namespace rocescope

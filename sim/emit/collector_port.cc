// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/collector_port.h"

#include <algorithm>

namespace rocescope::sim {
namespace {

constexpr uint32_t kWireOverhead = 24;  // FCS, preamble, gap

}  // namespace

std::span<uint8_t> CollectorPort::Begin(SimTime now, uint32_t length) {
  const SimTime here = now + options_.delay;
  const SimTime begin = std::max(here, busy_until_);
  const SimTime longest_wait = TransmitTime(options_.queue_bytes, options_.bits_per_second);
  if (begin - here > longest_wait) {
    ++counts_.lost;
    return {};
  }
  busy_until_ = begin + TransmitTime(length + kWireOverhead, options_.bits_per_second);
  arrival_ = WallTime(busy_until_);
  length_ = length;
  ++counts_.frames;
  counts_.bytes += length;
  return sink_.Room();
}

}  // namespace rocescope::sim

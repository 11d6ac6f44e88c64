// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/packet_load.h"

#include <algorithm>

namespace rocescope::plan {
namespace {

uint32_t CopyOf(uint32_t frame, const PacketShape& shape) {
  const uint32_t kept = shape.truncation == 0 ? frame : std::min(frame, shape.truncation);
  return MirrorHeaders(shape.erspan) + kept;
}

// Data packets per second; 1 / packets_per_ack ACKs share the link with each of them.
double DataRate(uint64_t link_bits_per_second, const PacketShape& shape) {
  const double ack = static_cast<double>(kAckFrame + kOnTheWire) / shape.packets_per_ack;
  return static_cast<double>(link_bits_per_second) /
         (8 * (DataFrame(shape.path_mtu) + kOnTheWire + ack));
}

}  // namespace

uint32_t CopyFrame(const PacketShape& shape) { return CopyOf(DataFrame(shape.path_mtu), shape); }

Load TrafficAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape) {
  const double data = DataRate(link_bits_per_second, shape);
  return {.per_second = data * (1 + 1.0 / shape.packets_per_ack),
          .bits_per_second = static_cast<double>(link_bits_per_second)};
}

Load CopiesAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape) {
  const double data = DataRate(link_bits_per_second, shape) / shape.one_in;
  const double acks = data / shape.packets_per_ack;
  const double bytes =
      data * (CopyFrame(shape) + kOnTheWire) + acks * (CopyOf(kAckFrame, shape) + kOnTheWire);
  return {.per_second = data + acks, .bits_per_second = 8 * bytes};
}

}  // namespace rocescope::plan

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/decode/decode.h"
#include "dataplane/wire/icrc.h"

namespace rocescope {

IcrcResult CheckIcrc(const DecodedFrame& frame) {
  const std::span<const uint8_t> packet = frame.network_packet;
  if (frame.kind != FrameKind::kRoce || packet.size() < wire::kIcrcSize) {
    return IcrcResult::kUnknown;
  }
  const size_t covered = packet.size() - wire::kIcrcSize;
  return wire::ComputeIcrc(packet.first(covered)) == wire::ReadIcrc(packet.subspan(covered))
             ? IcrcResult::kValid
             : IcrcResult::kInvalid;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Decoding that RoCEv1 and RoCEv2 share: BTH, extended headers, payload, iCRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/decode/drop_reason.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// `captured` begins with the BTH. `length` is the length of BTH to iCRC according to the lower
// header; it exceeds captured.size() only if frame.cut. Fills the transport fields of `frame`.
DropReason DecodeTransport(std::span<const uint8_t> captured, size_t length, DecodedFrame& frame);

}  // namespace rocescope

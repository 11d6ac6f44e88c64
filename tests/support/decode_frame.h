// SPDX-License-Identifier: BSD-3-Clause
// Decodes a built frame in one call.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "dataplane/decode/decode.h"

namespace rocescope::test {

inline DropReason DropReasonOf(std::span<const uint8_t> bytes,
                               LinkType link_type = LinkType::kEthernet) {
  DecodedFrame frame;
  return DecodeFrame({.bytes = bytes,
                      .original_length = static_cast<uint32_t>(bytes.size()),
                      .link_type = link_type},
                     frame);
}

// Decodes the frame in `bytes`; fails the test if it is invalid. The result's spans point into
// `bytes`, so for a temporary only plain values may be used after the full expression.
inline DecodedFrame Decode(std::span<const uint8_t> bytes,
                           LinkType link_type = LinkType::kEthernet) {
  DecodedFrame frame{};
  const DropReason reason = DecodeFrame({.bytes = bytes,
                                         .original_length = static_cast<uint32_t>(bytes.size()),
                                         .link_type = link_type},
                                        frame);
  EXPECT_EQ(reason, DropReason::kNone)
      << (reason == DropReason::kNone ? "" : kDropReasons[static_cast<size_t>(reason)].name);
  return frame;
}

}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
// Compares the decoder with a second one that was written from the specifications
// (tests/support/simple_decoder.h), field by field. The input format is that of decode_fuzz.
#include <cstdio>
#include <span>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/fuzz/link_types.h"
#include "tests/fuzz/require.h"
#include "tests/support/simple_difference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  // A copy, so that AddressSanitizer detects reads past the end.
  const std::vector<uint8_t> bytes(data + 1, data + size);
  const RawFrame raw = {
      .bytes = bytes,
      .original_length = static_cast<uint32_t>(bytes.size() + (data[0] >> 3) * 64),
      .link_type = kLinkTypes[data[0] & 7]};
  DecodedFrame frame{};
  const DropReason reason = DecodeFrame(raw, frame);
  const std::string difference = test::SimpleDifference(raw, frame, reason);
  if (!difference.empty()) std::fputs(difference.c_str(), stderr);
  Require(difference.empty(), "the decoder agrees with the simple decoder");
  return 0;
}

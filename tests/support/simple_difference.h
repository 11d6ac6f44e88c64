// SPDX-License-Identifier: BSD-3-Clause
// Compares the decoder with the simple decoder (simple_decoder.h), field by field.
#pragma once

#include <string>

#include "dataplane/decode/drop_reason.h"
#include "dataplane/decode/frame.h"
#include "tests/support/simple_decoder.h"

namespace rocescope::test {

// The fields of a decoded frame, in the notation of SimpleFrame.
SimpleFrame FieldsOf(const RawFrame& raw, const DecodedFrame& frame, DropReason reason);

// Returns "" if both agree, otherwise each field that differs with both values.
std::string SimpleDifference(const RawFrame& raw, const DecodedFrame& frame, DropReason reason);

}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
// UTF-8 validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

// Length in bytes of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7),
// or 0 if there is none. `text` must not be empty.
uint8_t Utf8Length(std::string_view text);

// The longest front of `text` with at most `most` bytes that does not end within a UTF-8 sequence.
std::string_view Utf8Front(std::string_view text, size_t most);

bool IsUtf8(std::string_view text);

// Returns `text` with '?' instead of each byte that is not part of a well-formed sequence. Protobuf
// rejects messages with other text.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Which octets are text.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

// The length of the well-formed UTF-8 sequence that `text`, which is not empty, begins with
// (Unicode 15, table 3-7), or 0 if it begins with none.
uint8_t Utf8Length(std::string_view text);

}  // namespace rocescope

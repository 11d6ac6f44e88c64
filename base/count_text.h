// SPDX-License-Identifier: BSD-3-Clause
// Counts in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

// "98,308".
std::string WithThousands(uint64_t value);

// "1 edge", "2 edges", "40 switches", "0 queries". Of several words the last one is the noun.
std::string Counted(uint64_t count, std::string_view noun);

}  // namespace rocescope

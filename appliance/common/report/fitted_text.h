// SPDX-License-Identifier: BSD-3-Clause
// Fits the text of a report to a width: wraps sentences, and lays out tables.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace rocescope {

inline constexpr size_t kNoWidth = std::numeric_limits<size_t>::max();

// Returns the text with lines of at most `width` characters. A longer line is continued below its
// own text: behind a number ("  1. "), behind a label or a count in front of two spaces (" evidence
// "), or otherwise two columns further right. A word that is longer than the width is not divided.
// Lays out the tables of TextTable::Deferred; a table that is too wide loses columns as
// TextTable::Render says.
std::string FitText(std::string_view text, size_t width);

}  // namespace rocescope

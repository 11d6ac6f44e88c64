// SPDX-License-Identifier: BSD-3-Clause
// Suggestions for misspelled names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rocescope {

// Returns the known name with the smallest edit distance (optimal string alignment: insertions,
// deletions, substitutions and swaps of neighbouring letters); the first one if several are equally
// near. Returns an empty name if every distance exceeds a third of the word's length.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> known);

// Returns `; did you mean "speed"?`, or an empty string if no known name is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace rocescope

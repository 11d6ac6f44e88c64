// SPDX-License-Identifier: BSD-3-Clause
// What somebody may have meant who wrote a name that is not known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rocescope {

// The known name with the fewest letters inserted, removed, replaced or swapped with their
// neighbour (optimal string alignment), the first of equals; empty where all are further than a
// third of the word's length away.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> known);

// `; did you mean "speed"?`, or nothing where no name is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "base/count_text.h"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace rocescope {
namespace {

std::string PluralOf(std::string_view noun) {
  const auto ends_with_one_of = [&](auto... ends) { return (noun.ends_with(ends) || ...); };
  if (ends_with_one_of("s", "x", "ch", "sh")) return std::string(noun) + "es";
  if (noun.ends_with("y") && !ends_with_one_of("ay", "ey", "oy", "uy")) {
    return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  }
  return std::string(noun) + "s";
}

}  // namespace

std::string WithThousands(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string Rounded(double value, int digits) {
  const double magnitude = value >= 1 ? std::floor(std::log10(value)) + 1 : 0;
  if (magnitude < digits || magnitude > 18) {
    std::ostringstream text;
    text << std::setprecision(digits) << value;
    return std::move(text).str();
  }
  const double unit = std::pow(10, magnitude - digits);
  return WithThousands(static_cast<uint64_t>(std::llround(std::round(value / unit) * unit)));
}

std::string Counted(uint64_t count, std::string_view noun) {
  return WithThousands(count) + " " + (count == 1 ? std::string(noun) : PluralOf(noun));
}

}  // namespace rocescope

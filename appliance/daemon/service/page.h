// SPDX-License-Identifier: BSD-3-Clause
// Long lists in pages: a token says which answer the first page was of, and where the next begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

struct PageToken {
  uint64_t version = 0;  // of the answer and the box's life; 0 of lists that are of none
  uint64_t offset = 0;   // of the first element, at least 1

  friend bool operator==(const PageToken&, const PageToken&) = default;
};

// Opaque to callers, who give back what they were given.
std::string ToText(const PageToken& token);
// None if it is not one.
std::optional<PageToken> ParsePageToken(std::string_view text);

// How many elements a page has, of those that the caller asked for.
inline constexpr uint32_t kDefaultPage = 100;
inline constexpr uint32_t kMaxPage = 1000;
constexpr uint32_t PageSize(uint32_t asked) {
  return asked == 0 ? kDefaultPage : asked < kMaxPage ? asked : kMaxPage;
}

}  // namespace rocescope

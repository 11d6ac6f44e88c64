// SPDX-License-Identifier: BSD-3-Clause
// Paging of long lists. A token identifies the snapshot of the first page and the start of the next
// page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

struct PageToken {
  uint64_t version = 0;  // identifies the snapshot across restarts; 0: the list has no snapshot
  uint64_t offset = 0;   // index of the first element of the page; at least 1

  friend bool operator==(const PageToken&, const PageToken&) = default;
};

// The text of a token is opaque to clients.
std::string ToText(const PageToken& token);
// Returns nullopt if the text is not a token.
std::optional<PageToken> ParsePageToken(std::string_view text);

// Returns the number of elements per page for a requested number (0: default).
inline constexpr uint32_t kDefaultPage = 100;
inline constexpr uint32_t kMaxPage = 1000;
constexpr uint32_t PageSize(uint32_t asked) {
  return asked == 0 ? kDefaultPage : asked < kMaxPage ? asked : kMaxPage;
}

}  // namespace rocescope

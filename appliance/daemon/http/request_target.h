// SPDX-License-Identifier: BSD-3-Clause
// Parser of a request target, for example "/api/v1/jobs/a%20b?page_size=3".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

struct RequestTarget {
  std::string path;                          // decoded; starts with a slash
  std::map<std::string, std::string> query;  // decoded; the last value of a repeated name
  std::string repeated;                      // a name that occurs more than once; empty: none
};

// Returns nullopt if the target is not a path with an optional query (RFC 3986, 3.3 and 3.4),
// contains an invalid percent-encoding, or contains a zero byte. A plus sign in the query is a
// space, as in HTML forms.
std::optional<RequestTarget> ParseRequestTarget(std::string_view target);

}  // namespace rocescope

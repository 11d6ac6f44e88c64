// SPDX-License-Identifier: BSD-3-Clause
// A request's target, taken apart: "/api/v1/jobs/a%20b?page_size=3".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

struct RequestTarget {
  std::string path;                          // decoded; begins with a slash
  std::map<std::string, std::string> query;  // decoded; of a name that comes twice, the last
};

// None if it is not a path with or without a query (RFC 3986, 3.3 and 3.4), has an octet encoded
// wrongly, or a zero octet. A plus sign in the query is a space, as forms send it.
std::optional<RequestTarget> ParseRequestTarget(std::string_view target);

}  // namespace rocescope

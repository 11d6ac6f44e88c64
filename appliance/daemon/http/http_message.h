// SPDX-License-Identifier: BSD-3-Clause
// HTTP requests and responses as handlers see them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/common/access/caller.h"

namespace rocescope {

struct HttpRequest {
  std::string method;         // "GET", or "POST" if the server accepts bodies
  std::string target;         // path and query, not decoded
  std::string if_none_match;  // header value; empty: not sent
  std::string last_event_id;
  std::string accept_encoding;
  std::string content_type;  // media type of the body
  std::string body;          // only of POST
  Caller caller;             // the server sets it; without roles, it may read nothing
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // additional headers
  // Produces the parts of a stream after the body. It is called a few times a second while the
  // client is connected, never while an earlier part is being sent. Empty: nothing to send now.
  std::function<std::string()> stream;
};

// A request that the server itself refuses: invalid, too large, or over a limit.
struct HttpRefusal {
  unsigned status = 400;
  std::string method;
  std::string target;  // as far as it was parsed
  std::string why;     // human-readable reason
};
// Formats the body of a refusal. The server sets the status and the required headers.
using HttpRefuser = std::function<HttpResponse(const HttpRefusal&)>;

// Must not throw. Called on the server's thread.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace rocescope

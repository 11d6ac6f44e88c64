// SPDX-License-Identifier: BSD-3-Clause
// A request and a response, as those who answer see them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocescope {

struct HttpRequest {
  std::string method;         // "GET"
  std::string target;         // as it was sent: path and query
  std::string if_none_match;  // headers; empty: not sent
  std::string last_event_id;
  std::string accept_encoding;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // others
  // What comes after the body, piece by piece, for as long as the caller listens: asked a few times
  // a second, never while an earlier piece is still under way. Empty: nothing now.
  std::function<std::string()> stream;
};

// A request that the server answers by itself, as it is none, too large, or one too many.
struct HttpRefusal {
  unsigned status = 400;
  std::string target;  // as far as it was read
  std::string why;     // a sentence for people
};
// Gives the refusal its form; status and what of headers HTTP itself wants is the server's.
using HttpRefuser = std::function<HttpResponse(const HttpRefusal&)>;

// Never throws; runs on the server's thread.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace rocescope

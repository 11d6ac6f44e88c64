// SPDX-License-Identifier: BSD-3-Clause
// Untrusted parts of a request: its target, its Host header, a page token.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "appliance/common/scrape/http_fetch.h"
#include "appliance/daemon/http/host_name.h"
#include "appliance/daemon/http/request_target.h"
#include "appliance/daemon/service/page.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  IsOwnHost(text);
  IsOwnOrigin(text, text);
  if (const auto url = ParseHttpUrl(std::string(text))) {
    Require(!url->host.empty() && !url->port.empty() && url->target.starts_with('/'),
            "a URL has all of its parts");
  }
  if (const auto target = ParseRequestTarget(text)) {
    Require(!target->path.empty() && target->path.front() == '/', "a path starts with a slash");
    Require(target->path.size() <= text.size(), "decoding does not increase the length");
    Require(target->path.find('\0') == std::string::npos, "no NUL byte is accepted");
  }
  if (const auto token = ParsePageToken(text)) {
    Require(ParsePageToken(ToText(*token)) == token, "a page token round-trips");
  }
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// HTTP requests to a running appliance.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

struct DaemonPage {
  std::string url = "http://127.0.0.1:8080/";
  // PEM files for https: all three or none.
  std::string ca;  // CA that signs the appliance's certificate
  std::string certificate;
  std::string key;
  std::string token_file;  // file with a bearer token; empty: none
};

// Returns the body that the appliance at `page` answers for `path` ("/metrics"), at most
// `most_bytes` long. The error names the URL.
Result<std::string> ReadPage(const DaemonPage& page, std::string_view path,
                             size_t most_bytes = size_t{64} << 20);

// Returns the JSON object that the appliance at `page` answers for `path` ("/api/v1/health"). The
// error names the URL.
Result<nlohmann::json> AskDaemon(const DaemonPage& page, std::string_view path);

// Returns the member `name` as text for people, or "" if it is missing.
std::string TextAt(const nlohmann::json& object, const char* key);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// A box that runs, asked over HTTP.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

// What the box whose page is at `page` ("http://127.0.0.1:8080/") answers at `path`
// ("/api/v1/health"): an object. The error names the page.
Result<nlohmann::json> AskBox(const std::string& page, std::string_view path);

// What stands there as text, for people; empty if it does not.
std::string TextAt(const nlohmann::json& object, const char* key);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// A box that runs, asked over HTTP.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

struct BoxPage {
  std::string url = "http://127.0.0.1:8080/";
  // PEM files, for https: all three, or none.
  std::string ca;  // who signs the box's certificate
  std::string certificate;
  std::string key;
};

// What the box whose page that is answers at `path` ("/api/v1/health"): an object. The error names
// the page.
Result<nlohmann::json> AskBox(const BoxPage& page, std::string_view path);

// What stands there as text, for people; empty if it does not.
std::string TextAt(const nlohmann::json& object, const char* key);

}  // namespace rocescope

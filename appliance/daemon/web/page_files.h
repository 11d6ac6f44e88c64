// SPDX-License-Identifier: BSD-3-Clause
// The dashboard's files, as they were built into the program.
#pragma once

#include <span>
#include <string_view>

namespace rocescope {

struct PageFile {
  std::string_view path;  // "/app.js"
  std::string_view content_type;
  std::string_view content;
};

// The first one is the page itself, "/".
std::span<const PageFile> PageFiles();

// openapi.json alone: the calls over HTTP, as appliance/api generated it.
std::span<const PageFile> ApiFiles();

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Files that are built into the program.
#pragma once

#include <span>
#include <string_view>

namespace rocescope {

struct PageFile {
  std::string_view path;  // "/app.js"
  std::string_view content_type;
  std::string_view content;
};

// Returns the files of the dashboard. The first one is the page itself, "/".
std::span<const PageFile> PageFiles();

// Returns one file: openapi.json, which appliance/api generates.
std::span<const PageFile> ApiFiles();

}  // namespace rocescope

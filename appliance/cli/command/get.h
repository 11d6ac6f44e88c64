// SPDX-License-Identifier: BSD-3-Clause
// Lists what a running appliance knows, one resource at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/command/daemon_page.h"
#include "appliance/common/report/table.h"
#include "base/result.h"

namespace rocescope {

// A column of the table of a resource.
struct GetColumn {
  std::string_view title;
  std::string (*text)(const nlohmann::json& row);
  Align align = Align::kLeft;
  bool is_wide = false;  // only with -o wide
};

// A list of the HTTP API.
struct GetResource {
  std::string_view name;      // "jobs"
  std::string_view singular;  // "job"
  std::string_view path;      // "/api/v1/jobs"
  std::string_view list;      // member of the response with the rows
  // Field that NAME selects by; empty: no NAME.
  std::string_view name_field;
  std::vector<GetColumn> columns;
};

// All resources, in the order of the help text.
const std::vector<GetResource>& GetResources();
// Returns null for an unknown name. Both the plural and the singular are accepted.
const GetResource* FindGetResource(std::string_view name);

enum class GetFormat : uint8_t { kTable, kWide, kJson };

struct GetOptions {
  DaemonPage page;
  std::string resource;
  std::string name;
  // Query parameters that are passed on, such as {"filter", "..."}; empty values are left out.
  std::vector<std::pair<std::string, std::string>> parameters;
  GetFormat format = GetFormat::kTable;
  bool watch = false;
  std::chrono::milliseconds interval{2000};
};

// Reads a path of the appliance. Replaced in tests.
using GetReader = std::function<Result<nlohmann::json>(std::string_view path)>;

// Reads all pages. Returns the first response with the rows of all pages.
Result<nlohmann::json> ReadAllPages(
    const GetReader& read, const GetResource& resource, std::string_view name,
    const std::vector<std::pair<std::string, std::string>>& parameters);

// Formats the rows of a response as a table with a line of titles.
std::string GetTable(const GetResource& resource, const nlohmann::json& response, bool is_wide);

// Prints the resource, with `watch` again each time a row is new or has changed, until a signal.
// Returns the exit code: 0, 1 if NAME does not exist, 2 for an unknown resource, 3 if the appliance
// does not answer, 4 if standard output fails.
int RunGet(const GetOptions& options);

}  // namespace rocescope

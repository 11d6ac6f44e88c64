// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/plan/plan.h"
#include "appliance/cli/plan/plan_report.h"
#include "appliance/cli/plan/switch_config.h"
#include "appliance/common/files/text_file.h"
#include "base/count_text.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

using topology::Fabric;

constexpr uintmax_t kLargestDescription = uintmax_t{64} << 20;  // as ParseYaml accepts

// Never overwrite an earlier plan, which may have been edited since.
bool IsNewOrEmpty(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return true;
  return std::filesystem::is_empty(folder, error) && !error;
}

bool WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  Message(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
  return false;
}

// A switch name may contain a path separator.
std::string FileOf(std::string name, plan::Vendor vendor) {
  std::ranges::replace(name, '/', '_');
  return name + (vendor == plan::Vendor::kSonic ? ".sh" : ".cfg");
}

std::string RollbackFileOf(const std::string& name, plan::Vendor vendor) {
  return FileOf(name + ".rollback", vendor);
}

// Checks that each switch has a file of its own, also on a file system that ignores case.
Status CheckFiles(const Fabric& fabric, const plan::Plan& plan) {
  std::unordered_map<std::string, std::string_view> owners;
  for (const plan::SwitchTask& task : SwitchTasks(fabric, plan)) {
    const std::string& name = task.owner().name;
    for (const std::string& file :
         {FileOf(name, plan.options.vendor), RollbackFileOf(name, plan.options.vendor)}) {
      std::string key = file;  // ASCII: MakePlan refuses other names
      std::ranges::transform(key, key.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const auto [at, added] = owners.emplace(std::move(key), name);
      if (added) continue;
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("the switches {} and {} would have the same configuration file "
                                   "({}, upper and lower case are not distinguished): rename one "
                                   "of them in the topology file",
                                   at->second, name, file));
    }
  }
  return {};
}

int WriteFolder(const Fabric& fabric, const plan::Plan& plan, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    Message(fmt::format("{}: cannot create: {}", folder.string(), error.message()));
    return kExitOutput;
  }
  const Result<Fabric> planned = PlannedFabric(fabric, plan);
  if (!planned) {
    Message(planned.error().message);
    return kExitOutput;
  }
  bool written = WriteFile(folder / "topology.yaml", topology::WriteFabric(*planned)) &&
                 WriteFile(folder / "appliance.yaml", ApplianceYaml(plan, "topology.yaml"));
  const auto configs = SwitchConfigs(fabric, plan);
  for (const plan::SwitchConfig& config : configs) {
    const std::string& name = fabric.node(config.node).name;
    written = written && WriteFile(folder / FileOf(name, plan.options.vendor), config.text) &&
              WriteFile(folder / RollbackFileOf(name, plan.options.vendor), config.rollback);
  }
  if (!written) return kExitOutput;
  Message(fmt::format("wrote topology.yaml, appliance.yaml and {}{} to {}",
                      Counted(configs.size(), "switch configuration"),
                      configs.empty() ? "" : " with rollback files", folder.string()));
  return kExitSuccess;
}

}  // namespace

int RunPlan(const PlanRunOptions& options) {
  if (!options.folder.empty() && !IsNewOrEmpty(options.folder)) {
    Message(fmt::format("{} exists and is not an empty directory; use a new one", options.folder));
    return kExitUsage;
  }
  const Result<std::string> text = ReadTextFileOrStdin(options.fabric, kLargestDescription);
  if (!text) {
    Message(text.error().message);
    return kExitUnreadable;
  }
  const Result<Fabric> fabric = topology::LoadFabric(
      *text, options.fabric == "-" ? std::string("standard input") : options.fabric);
  if (!fabric) {
    MessageLines(fabric.error().message);
    return kExitUnreadable;
  }
  const Result<plan::Plan> plan = plan::MakePlan(*fabric, options.plan);
  if (!plan) {
    Message(plan.error().message);
    return kExitUsage;
  }
  if (!options.folder.empty()) {
    if (const Status files = CheckFiles(*fabric, *plan); !files) {
      Message(files.error().message);
      return kExitUsage;
    }
  }
  const Result<std::string> report = options.format == ReportFormat::kJson
                                         ? PlanJson(*fabric, *plan)
                                         : PlanText(*fabric, *plan, options.folder.empty());
  if (!report) {
    Message(report.error().message);
    return kExitOutput;
  }
  if (WriteToStdout(*report) == OutputState::kFailed) return kExitOutput;
  return options.folder.empty() ? int{kExitSuccess} : WriteFolder(*fabric, *plan, options.folder);
}

}  // namespace rocescope

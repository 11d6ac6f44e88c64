// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/sandboxed_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "appliance/cli/command/log.h"
#include "appliance/cli/command/message.h"
#include "appliance/common/process/sandbox.h"

namespace rocescope {
namespace {

// The EAL keeps its runtime files in the first that it may write, and removes them at the end.
void AddDpdk(std::vector<FileRule>& rules) {
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& directory :
       {std::string("/run/dpdk"), own == nullptr ? "" : std::string(own) + "/dpdk",
        std::string("/tmp/dpdk"), std::string("/dev/infiniband"), std::string("/dev/vfio")}) {
    rules.push_back({.path = directory, .access = FileAccess::kWrite});
  }
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string directory;
    std::string type;
    if (words >> device >> directory >> type && type == "hugetlbfs") {
      rules.push_back({.path = directory, .access = FileAccess::kWrite});
    }
  }
}

void LogMissing(std::string_view component, const std::vector<std::string>& missing) {
  for (const std::string& sentence : missing) {
    Log(Severity::kWarning, component, fmt::format("not fully sandboxed: {}", sentence));
  }
}

}  // namespace

std::vector<FileRule> FilesOf(const ApplianceConfig& config, const std::string& config_path) {
  std::vector<FileRule> rules;
  const auto add = [&](const std::string& path, FileAccess access) {
    if (path.empty()) return;
    for (FileRule& rule : ReplaceableFile(path, access)) rules.push_back(std::move(rule));
  };
  add(config_path, FileAccess::kRead);
  add(config.topology, FileAccess::kRead);
  for (const auto* const paths :
       {&config.host_files.nccl_logs, &config.host_files.rdma, &config.host_files.slurm}) {
    for (const std::string& path : *paths) add(path, FileAccess::kRead);
  }
  for (const TlsConfig* const tls : {&config.http.tls, &config.grpc.tls}) {
    for (const std::string& path : {tls->certificate, tls->key, tls->client_ca, tls->crl}) {
      add(path, FileAccess::kRead);
    }
  }
  add(config.history.file, FileAccess::kWrite);
  add(config.jobs.file, FileAccess::kWrite);
  add(config.findings.file, FileAccess::kWrite);
  if (!config.dpdk.eal.empty()) AddDpdk(rules);
  return rules;
}

std::vector<std::string> SandboxAppliance(const ApplianceConfig& config,
                                          const std::string& config_path) {
  if (config.sandbox == SandboxMode::kOff) {
    Log(Severity::kInfo, "appliance", "the sandbox is disabled by `sandbox: off`");
    return {};
  }
  // SQLite would write large temporary tables to /var/tmp.
  if (!config.history.file.empty()) {
    const auto directory = std::filesystem::absolute(config.history.file).parent_path();
    setenv("SQLITE_TMPDIR", directory.c_str(), 1);
  }
  std::vector<std::string> missing = EnterSandbox(
      {.program = SandboxedProgram::kAppliance, .files = FilesOf(config, config_path)});
  LogMissing("appliance", missing);
  return missing;
}

void SandboxAgent(const AgentConfig& config) {
  if (config.sandbox == SandboxMode::kOff) return;
  LogMissing("agent", EnterSandbox({.program = SandboxedProgram::kAgent, .reads_processes = true}));
}

void SandboxCapture() {
  (void)EnterSandbox({.program = SandboxedProgram::kAgent, .files = std::vector<FileRule>{}});
}

void SandboxReader() {
  (void)EnterSandbox({.program = SandboxedProgram::kReader, .files = std::vector<FileRule>{}});
}

void ReportDenials() {
  if (DeniedSystemCalls() == 0) return;
  Message(fmt::format("the sandbox denied system calls: {}; please report this",
                      fmt::join(NamesOfDeniedSystemCalls(), ", ")));
}

void DenialLog::Look() {
  if (std::exchange(denied_, DeniedSystemCalls()) == denied_) return;
  const std::vector<std::string> names = NamesOfDeniedSystemCalls();
  if (std::exchange(logged_, names.size()) == names.size()) return;
  Log(Severity::kWarning, "sandbox",
      fmt::format("denied system calls so far: {}. If a device driver needs one of them, set "
                  "`sandbox: off` and report it",
                  fmt::join(names, ", ")));
}

}  // namespace rocescope

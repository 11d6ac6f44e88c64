// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/agent.h"

#include <fmt/format.h>

#include "appliance/agent/agent.h"
#include "appliance/agent/rdma_netlink.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/log.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/stop_signal.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

Result<AgentConfig> ConfigOf(const AgentRunOptions& options) {
  Result<AgentConfig> config = AgentConfig{};
  if (!options.config.empty()) config = LoadAgentConfig(options.config);
  if (!config) return config;
  if (!options.appliance.empty()) config->appliance = options.appliance;
  if (!options.host.empty()) config->host = options.host;
  if (!options.nccl_logs.empty()) config->nccl_logs = options.nccl_logs;
  return config;
}

}  // namespace

int RunAgent(const AgentRunOptions& options) {
  IgnoreReloadSignal();
  SetLogFormat(options.log_format);
  const Result<AgentConfig> config = ConfigOf(options);
  if (!config) {
    LogFatal("agent", config.error().message);
    return kExitUnreadable;
  }
  if (options.dump) {
    const std::string text = DumpAgentConfig(*config);
    return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
  }
  EndInputOnSignal();
  SandboxAgent(*config);  // before threads start
  const auto agent = Agent::Begin(*config, ROCESCOPE_VERSION, LogAs("agent"), ReadKernelQueuePairs);
  if (!agent) {
    LogFatal("agent", agent.error().message);
    return kExitUnreadable;
  }
  Log(Severity::kInfo, "agent",
      fmt::format("reporting to the appliance at {} for {}", config->appliance,
                  config->host.empty() ? OwnHostName() : config->host));
  (*agent)->Run(InputEndedBySignal);
  DenialLog().Look();
  const BatchBuffer::Counts counts = (*agent)->counts();
  if (counts.lost_batches > 0) {
    Log(Severity::kWarning, "agent",
        fmt::format("{} ({} bytes) dropped in total, before the appliance accepted them: the send "
                    "buffer was full",
                    Counted(counts.lost_batches, "batch"), WithThousands(counts.lost_bytes)));
  }
  return kExitSuccess;
}

}  // namespace rocescope

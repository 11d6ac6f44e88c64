// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/agent.h"

#include <fmt/format.h>

#include "appliance/agent/agent.h"
#include "appliance/agent/rdma_netlink.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/stop_signal.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

Result<AgentConfig> ConfigOf(const AgentRunOptions& options) {
  Result<AgentConfig> config = AgentConfig{};
  if (!options.config.empty()) config = LoadAgentConfig(options.config);
  if (!config) return config;
  if (!options.box.empty()) config->box = options.box;
  if (!options.host.empty()) config->host = options.host;
  if (!options.nccl_logs.empty()) config->nccl_logs = options.nccl_logs;
  return config;
}

}  // namespace

int RunAgent(const AgentRunOptions& options) {
  const Result<AgentConfig> config = ConfigOf(options);
  if (!config) {
    MessageLines(config.error().message);
    return kExitUnreadable;
  }
  if (options.dump) {
    const std::string text = DumpAgentConfig(*config);
    return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
  }
  EndInputOnSignal();
  const auto agent = Agent::Begin(
      *config, ROCESCOPE_VERSION, [](const std::string& text) { Message(text); },
      ReadKernelQueuePairs);
  if (!agent) {
    MessageLines(agent.error().message);
    return kExitUnreadable;
  }
  Message(fmt::format("reporting to the appliance at {} for {}", config->box,
                      config->host.empty() ? OwnHostName() : config->host));
  (*agent)->Run(InputEndedBySignal);
  const BatchBuffer::Counts counts = (*agent)->counts();
  if (counts.lost_batches > 0) {
    Message(fmt::format(
        "{} dropped ({} bytes): the appliance was unreachable for longer than the buffer covers",
        Counted(counts.lost_batches, "batch"), WithThousands(counts.lost_bytes)));
  }
  return kExitSuccess;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "appliance/cli/command/agent.h"
#include "appliance/cli/command/arguments.h"

namespace rocescope {

Command AddAgent(CLI::App& parent) {
  auto options = std::make_shared<AgentRunOptions>();
  CLI::App* app = parent.add_subcommand(
      "agent", "Run the host agent: report NCCL logs, queue pairs, NICs and GPUs to the appliance");
  app->footer(
      "Reports new lines of NCCL logs, the queue pairs of all processes with the job and rank of "
      "their\n"
      "owners, RDMA devices with addresses and counters, GPUs, and metrics that local programs "
      "export. It\n"
      "needs no privileges except read access to the logs; job and rank of other users' processes "
      "need\n"
      "CAP_SYS_PTRACE. While the appliance is unreachable, the agent buffers data and reconnects.\n"
      "`rocescope agent --dump` prints the configuration reference.\n"
      "\n"
      "Example:\n"
      "  rocescope agent --nccl-logs '/var/log/nccl/*.log'  # appliance on this host\n"
      "  rocescope agent /etc/rocescope/agent.yaml");
  app->add_option("CONFIG", options->config, "Configuration file (YAML).")->type_name("");
  app->add_option("--appliance", options->appliance,
                  "gRPC address of the appliance (default 127.0.0.1:50051).")
      ->type_name("HOST:PORT");
  app->add_option("--host", options->host, "Name of this host in the topology.")->type_name("NAME");
  Repeatable(app->add_option("--nccl-logs", options->nccl_logs,
                             "Files or glob patterns of NCCL_DEBUG=INFO logs."))
      ->type_name("PATTERN");
  AddLogFormat(*app, options->log_format);
  app->add_flag("--dump", options->dump,
                "Print the configuration with every key and its description, and exit.");
  return {.app = app, .run = [options] { return RunAgent(*options); }, .ends_input_itself = true};
}

}  // namespace rocescope

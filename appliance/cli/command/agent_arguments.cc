// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "appliance/cli/command/agent.h"
#include "appliance/cli/command/arguments.h"

namespace rocescope {

Command AddAgent(CLI::App& parent) {
  auto options = std::make_shared<AgentRunOptions>();
  CLI::App* app = parent.add_subcommand(
      "agent", "On a host with GPUs: tell the box what only the host knows, until a signal");
  app->footer(
      "Tells NCCL's logs while they grow, queue pairs of all processes, job and rank of their "
      "owners,\n"
      "RDMA devices, their addresses and counters, GPUs, and metrics of programs. Needs no rights "
      "for\n"
      "that but to read the logs; other users' job and rank take CAP_SYS_PTRACE. While the box is "
      "away\n"
      "it keeps what there is room for, and tries again. What the file may say: `rocescope agent "
      "--dump`.\n\n"
      "Example:\n"
      "  rocescope agent --nccl-logs '/var/log/nccl/*.log'  # to a box on this host\n"
      "  rocescope agent /etc/rocescope/agent.yaml");
  app->add_option("CONFIG", options->config, "the configuration, a YAML file")->type_name("");
  app->add_option("--box", options->box, "where the box listens for gRPC (default 127.0.0.1:50051)")
      ->type_name("HOST:PORT");
  app->add_option("--host", options->host, "what the topology calls this host")->type_name("NAME");
  Repeatable(app->add_option("--nccl-logs", options->nccl_logs,
                             "files or patterns of what NCCL_DEBUG=INFO prints"))
      ->type_name("PATTERN");
  app->add_flag("--dump", options->dump,
                "print the configuration with every key, and what it means; do nothing else");
  return {.app = app, .run = [options] { return RunAgent(*options); }, .ends_input_itself = true};
}

}  // namespace rocescope

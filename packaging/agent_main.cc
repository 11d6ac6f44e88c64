// SPDX-License-Identifier: BSD-3-Clause
// The program rocescope-agent: `rocescope agent` without the rest of the appliance, for GPU hosts.
#include <csignal>
#include <exception>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "base/file_size_signal.h"

namespace rocescope {
namespace {

constexpr const char* kDescription =
    "Report NCCL logs, queue pairs, NIC counters, GPUs and jobs of this host to the rocescope\n"
    "appliance until SIGINT or SIGTERM.";

constexpr const char* kFooter =
    "The agent reads new lines of NCCL logs, the queue pairs of all processes, the job and\n"
    "rank of their owners, the addresses and counters of RDMA devices, GPUs, and Prometheus\n"
    "metrics that local programs export. It needs read access to the logs. Reading the job and "
    "rank of\n"
    "other users' processes needs CAP_SYS_PTRACE. While the appliance is unreachable, the agent\n"
    "buffers data and reconnects. `rocescope-agent --dump` prints all configuration keys with\n"
    "their meaning.\n\n"
    "Exit codes:\n"
    "  0  a signal ended the agent\n"
    "  2  the command line is invalid\n"
    "  3  the configuration, or a file that it names, cannot be used\n"
    "  4  standard output cannot be written, or memory ran out\n\n"
    "Example:\n"
    "  rocescope-agent --nccl-logs '/var/log/nccl/*.log'  # to an appliance on this host\n"
    "  rocescope-agent /etc/rocescope/agent.yaml";

int Print(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

int Main(int argc, char** argv) {
  CLI::App parent;
  parent.set_help_flag("-h,--help", "Print this text and exit");
  const Command command = AddAgent(parent);
  CLI::App& app = *command.app;
  app.name("rocescope-agent");
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "rocescope-agent " ROCESCOPE_VERSION,
                       "Print the version and exit");
  app.get_formatter()->column_width(26);
  try {
    app.parse(argc, argv);  // detaches `app` from `parent`
    return command.run();
  } catch (const CLI::CallForHelp&) {
    return Print(app.help());
  } catch (const CLI::CallForVersion&) {
    return Print(app.version() + "\n");
  } catch (const CLI::ParseError& error) {
    Message(error.what());
    Message("`rocescope-agent --help` describes the command line");
    return kExitUsage;
  }
}

}  // namespace
}  // namespace rocescope

int main(int argc, char** argv) {
  rocescope::HoldStandardStreams();
  rocescope::IgnoreFileSizeSignal();
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe returns an error
  try {
    return rocescope::Main(argc, argv);
  } catch (const std::exception& error) {
    rocescope::Message(error.what());
    return rocescope::kExitOutput;
  }
}

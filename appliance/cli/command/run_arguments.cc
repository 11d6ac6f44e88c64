// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/doctor.h"
#include "appliance/cli/command/healthcheck.h"
#include "appliance/cli/command/run.h"
#include "appliance/cli/command/support_bundle.h"

namespace rocescope {

Command AddRun(CLI::App& parent) {
  struct State {
    DaemonRunOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("run",
                                        "Run the appliance: receive telemetry, diagnose "
                                        "continuously, and serve the APIs and the dashboard");
  app->footer(
      "Receives mirrored packets from DPDK ports and network interfaces, INT reports and sFlow on "
      "UDP,\n"
      "counters from exporters, and data from host agents, until SIGINT or SIGTERM. SIGHUP "
      "reloads\n"
      "certificates and host_files. Prints one line to standard output for each fault that starts, "
      "is resolved or "
      "is\n"
      "withdrawn; with -o json, each is an Event of service.proto. The dashboard is at\n"
      "http://127.0.0.1:8080/, the HTTP API under /api/v1/, Prometheus metrics at /metrics, and "
      "the gRPC\n"
      "API at 127.0.0.1:50051. Access from other machines requires mutual TLS. `rocescope config "
      "dump`\n"
      "prints the configuration reference.\n"
      "Exit codes: 0 ended by a signal, 1 a source failed, 3 the configuration, or a file, device "
      "or\n"
      "address that it names, cannot be used, 4 standard output cannot be written.\n"
      "\n"
      "Example:\n"
      "  rocescope run /etc/rocescope/appliance.yaml");
  app->add_option("CONFIG", state->options.config, "Configuration file (YAML)")
      ->type_name("")
      ->required();
  AddOutputFormat(*app, state->format, "one object per line");
  AddLogFormat(*app, state->options.log_format);
  return {.app = app,
          .run =
              [state] {
                state->options.format = FormatOf(state->format);
                return RunDaemon(state->options);
              },
          .ends_input_itself = true};
}

Command AddHealthcheck(CLI::App& parent) {
  auto page = std::make_shared<DaemonPage>();
  CLI::App* app = parent.add_subcommand(
      "healthcheck", "Check the state of a running appliance (for container health checks)");
  app->footer(
      "Prints the state (SERVING, WAITING for the first telemetry, or DEGRADED) and one line for "
      "each\n"
      "problem. Unreachable agents and exporters are listed, but do not make the appliance "
      "DEGRADED. With\n"
      "TLS, use the https URL and a client certificate with the role viewer.\n"
      "Exit codes: 0 serving or waiting, 1 degraded, 3 no answer.");
  AddPage(*app, *page, "PAGE");
  return {.app = app, .run = [page] { return RunHealthcheck(*page); }};
}

Command AddDoctor(CLI::App& parent) {
  auto page = std::make_shared<DaemonPage>();
  CLI::App* app =
      parent.add_subcommand("doctor", "Check a running appliance for missing or faulty telemetry");
  app->footer(
      "Finds silent sources, ports without RoCE, losses, switches and hosts missing from the "
      "topology,\n"
      "clock offsets and stuck counters, each with a recommended action. Faults of the fabric are "
      "shown\n"
      "on the dashboard.\n"
      "Exit codes: 0 no problems, 1 problems, or no telemetry was analysed yet, 3 no answer.");
  AddPage(*app, *page, "PAGE");
  return {.app = app, .run = [page] { return RunDoctor(*page); }};
}

Command AddSupportBundle(CLI::App& parent) {
  auto options = std::make_shared<SupportBundleOptions>();
  CLI::App* app = parent.add_subcommand("support-bundle",
                                        "Collect diagnostic data of the appliance in one archive");
  app->footer(
      "Writes one archive (.tar.gz, mode 0600) with the configuration, the responses of the "
      "running "
      "appliance\n"
      "(health, problems, sources, findings, metrics), the sizes of its files, and facts about the "
      "machine.\n"
      "manifest.txt in the archive lists each file with its purpose, and the parts that are "
      "missing.\n"
      "Token digests, paths of private keys, and users, passwords and queries in URLs are removed. "
      "The\n"
      "archive contains names of hosts, switches, jobs and users, and network addresses: read it "
      "before\n"
      "you send it. Run the command as root, so that it can read all files. With TLS, use the "
      "https URL\n"
      "and a client certificate with the role viewer.\n"
      "Exit codes: 0 complete, 1 a part is missing, for example because the appliance does not "
      "run, 2 the\n"
      "command line is invalid or the output exists, 4 the output cannot be written.\n"
      "\n"
      "Example:\n"
      "  rocescope support-bundle --output /tmp/support.tar.gz");
  app->add_option("--output", options->output, "File to write; an existing file is not replaced")
      ->type_name("FILE")
      ->required();
  app->add_option("--config", options->config, "Configuration of the appliance")
      ->type_name("FILE")
      ->capture_default_str();
  AddPage(*app, options->page, "--appliance");
  return {.app = app, .run = [app, options] {
            options->is_page_given = app->count("--appliance") > 0;
            return RunSupportBundle(*options);
          }};
}

Command AddConfig(CLI::App& parent) {
  auto path = std::make_shared<std::string>();
  CLI::App* app =
      parent.add_subcommand("config", "Check or print the configuration of `rocescope run`");
  app->require_subcommand(1);
  app->footer(  // The subcommands inherit it.
      "Exit codes: 0 the configuration is valid, 3 it is invalid or cannot be read, 4 standard "
      "output\n"
      "cannot be written.");
  CLI::App* check = app->add_subcommand("check",
                                        "Validate a configuration file: print errors as "
                                        "FILE:LINE:COLUMN, and nothing if it is valid. Files, "
                                        "devices and users that it names are not checked, because "
                                        "they may exist only on the appliance");
  check->add_option("CONFIG", *path, "Configuration file (YAML)")->type_name("")->required();
  CLI::App* dump = app->add_subcommand("dump",
                                       "Print the configuration with every key, its value and its "
                                       "description; without a file, the defaults");
  dump->add_option("CONFIG", *path, "Configuration file (YAML)")->type_name("");
  return {.app = app, .run = [path, check] {
            return check->parsed() ? RunConfigCheck(*path) : RunConfigDump(*path);
          }};
}

}  // namespace rocescope

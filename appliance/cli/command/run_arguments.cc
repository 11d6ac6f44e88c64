// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/doctor.h"
#include "appliance/cli/command/healthcheck.h"
#include "appliance/cli/command/run.h"

namespace rocescope {

Command AddRun(CLI::App& parent) {
  struct State {
    BoxRunOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand(
      "run", "Stand in the fabric: receive what it tells, and say what is broken while it is");
  app->footer(
      "Receives mirrored packets from DPDK ports and interfaces, INT reports and sFlow from UDP\n"
      "sockets, counters from exporters and what hosts' agents tell, all at once, until SIGINT or\n"
      "SIGTERM; at SIGHUP it reads host_files anew. A line for each fault that begins, is over or "
      "is\n"
      "taken back goes to standard output; with -o json each is an object, an Event of\n"
      "service.proto. The same, and all else that is known, over HTTP (the page at\n"
      "http://127.0.0.1:8080/, the API under /api/v1/, metrics for Prometheus at /metrics) and "
      "over\n"
      "gRPC (127.0.0.1:50051); to other machines with TLS both ways. What the file may say:\n"
      "`rocescope config dump`.\n"
      "Exit codes: 0 told to end, 1 a source failed, 3 the configuration or what it names cannot "
      "be\n"
      "used, 4 standard output cannot be written.\n\n"
      "Example:\n"
      "  rocescope run /etc/rocescope/appliance.yaml");
  app->add_option("CONFIG", state->options.config, "the configuration, a YAML file")
      ->type_name("")
      ->required();
  AddOutputFormat(*app, state->format, "one object a line");
  return {.app = app,
          .run =
              [state] {
                state->options.format = FormatOf(state->format);
                return RunBox(state->options);
              },
          .ends_input_itself = true};
}

namespace {

void AddPage(CLI::App& app, BoxPage& page) {
  app.add_option("PAGE", page.url, "where it serves")->type_name("URL")->capture_default_str();
  app.add_option("--ca", page.ca, "PEM file of who signs the box's certificate, for an https page")
      ->type_name("FILE");
  app.add_option("--cert", page.certificate, "PEM file of one's own certificate, of a viewer")
      ->type_name("FILE");
  app.add_option("--key", page.key, "PEM file of its key")->type_name("FILE");
}

}  // namespace

Command AddHealthcheck(CLI::App& parent) {
  auto page = std::make_shared<BoxPage>();
  CLI::App* app =
      parent.add_subcommand("healthcheck", "Ask a box that runs how it is, for containers");
  app->footer(
      "Prints its state, SERVING, WAITING (nothing has come yet) or DEGRADED, and each problem in "
      "a line;\n"
      "of agents and exporters that are away it tells, but they are no problem of the box's.\n"
      "A box that serves by TLS is asked by https, with the certificate of a viewer.\n"
      "Exit codes: 0 serving or waiting, 1 degraded, 3 nobody answers.");
  AddPage(*app, *page);
  return {.app = app, .run = [page] { return RunHealthcheck(*page); }};
}

Command AddDoctor(CLI::App& parent) {
  auto page = std::make_shared<BoxPage>();
  CLI::App* app =
      parent.add_subcommand("doctor", "Say what keeps a box that runs from seeing what it should");
  app->footer(
      "Silent sources, ports without RoCE, losses, switches and hosts that the topology does not\n"
      "know, clocks that are apart, numbers that stand still: each with its remedy. The fabric's "
      "own\n"
      "faults are on the page.\n"
      "Exit codes: 0 nothing to complain of, 1 something, 3 nobody answers.");
  AddPage(*app, *page);
  return {.app = app, .run = [page] { return RunDoctor(*page); }};
}

Command AddConfig(CLI::App& parent) {
  auto path = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("config", "Look at the configuration of `rocescope run`");
  app->require_subcommand(1);
  CLI::App* check = app->add_subcommand(
      "check", "Say what is wrong with it, with file, line and column; silent if nothing is");
  check->add_option("CONFIG", *path, "the configuration, a YAML file")->type_name("")->required();
  CLI::App* dump = app->add_subcommand(
      "dump", "Print it with every key, its value, and what it means; without a file the defaults");
  dump->add_option("CONFIG", *path, "the configuration, a YAML file")->type_name("");
  return {.app = app, .run = [path, check] {
            return check->parsed() ? RunConfigCheck(*path) : RunConfigDump(*path);
          }};
}

}  // namespace rocescope

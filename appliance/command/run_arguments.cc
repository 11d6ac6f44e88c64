// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/command/arguments.h"
#include "appliance/command/run.h"

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
      "Receives mirrored packets from interfaces, INT reports and sFlow from UDP sockets, all at "
      "once,\n"
      "until SIGINT or SIGTERM. A line for each fault that begins, is over or is taken back goes "
      "to\n"
      "standard output; with -o json each is an object: at_ns, change (begun, over, taken_back) "
      "and\n"
      "finding, as `replay -o json` has it. What the file may say: `rocescope config dump`.\n\n"
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

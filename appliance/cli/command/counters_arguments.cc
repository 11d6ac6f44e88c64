// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/counters.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"

namespace rocescope {
namespace {

Command AddCountersConvert(CLI::App& parent) {
  struct State {
    CountersConvertOptions options;
    std::string to;
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand(
      "convert", "Convert counters.jsonl to counters.columns, or the reverse, without loss");
  app->footer(
      "The form of the input is recognised by its content. counters.columns is compact, for long\n"
      "recordings; `rocescope replay` reads both forms alike. A run directory must contain only "
      "one of\n"
      "them. Invalid lines are skipped with a message, and damaged blocks end the input; the exit "
      "code\n"
      "is then 1. dataplane/run/README.md describes both formats.\n"
      "\n"
      "Examples:\n"
      "  rocescope counters convert run/counters.jsonl counters.columns\n"
      "  rocescope counters convert run/counters.columns - | head\n"
      "  my-exporter | rocescope counters convert - run/counters.columns");
  app->add_option("IN", state->options.input, "Input file; - reads standard input")
      ->type_name("")
      ->required();
  app->add_option("OUT", state->options.output,
                  "Output file, which is replaced; - writes to standard output")
      ->type_name("")
      ->required();
  app->add_option(
         "--to", state->to,
         "Output form. Default: by the name of OUT: columns if it ends in .columns, lines\n"
         "if it ends in .jsonl or is -")
      ->type_name("FORM")
      ->check(CLI::IsMember({"columns", "lines"}));
  return {.app = app, .run = [state] {
            const std::string& out = state->options.output;
            if (state->to == "columns" || (state->to.empty() && out.ends_with(".columns"))) {
              state->options.to = CounterForm::kColumns;
            } else if (state->to == "lines" || out == "-" || out.ends_with(".jsonl")) {
              state->options.to = CounterForm::kLines;
            } else {
              Message(fmt::format(
                  "{}: cannot derive the form from the file name; use --to columns or --to lines",
                  out));
              return int{kExitUsage};
            }
            return RunCountersConvert(state->options);
          }};
}

}  // namespace

Command AddCounters(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("counters", "Convert files of counters");
  app->require_subcommand(1);
  app->footer("`rocescope counters COMMAND --help` describes one command.");
  const std::vector<Command> commands = {AddCountersConvert(*app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

}  // namespace rocescope

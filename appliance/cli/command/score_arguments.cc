// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/score.h"

namespace rocescope {

Command AddScore(CLI::App& parent) {
  struct State {
    ScoreRunOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app =
      parent.add_subcommand("score", "Hold the answers about a simulated run against its truth");
  app->footer(
      "A run's folder is replayed once for each view, that is with some of its telemetry; a "
      "folder\n"
      "of scores, as testbeds/campaign leaves them, is summed up.\n\n"
      "Exit codes: 0 every bar holds, 1 one is missed, 2 an error.\n\n"
      "Columns are in per cent: P of what is stated is right (precision), R of what there is is\n"
      "stated and right (recall); JOBS ARI is the adjusted Rand index of who is in which job;\n"
      "PATH is of octets, IN REACH what of them samples can be expected to tell. ! is a bar\n"
      "missed, \"few\" a confidence of too few answers to judge. Views about faults (full,\n"
      "leaf-switch-counters, port-sets-counters) have tables of their own.\n\n"
      "Examples:\n"
      "  rocescope score run/\n"
      "  rocescope score run/ --view leaves -o json > 0001.score.json\n"
      "  rocescope score campaign/scores/ --priors sim/draw/priors.yaml");
  app->add_option("PATH", state->options.path, "a run's folder, or one of files *.score.json")
      ->type_name("")
      ->required();
  Repeatable(app->add_option(
                    "--view", state->options.views,
                    "one view alone, or paths, or diagnosis: all that are about those; all: what\n"
                    "there is, for faults, without bars; may be repeated; all views whose\n"
                    "telemetry the run has if not given")
                 ->type_name("NAME"));
  app->add_option("--report", state->options.report,
                  "what `rocescope replay -o json` printed, in place of a replay")
      ->type_name("FILE");
  app->add_option("--priors", state->options.priors,
                  "how often each kind of fault occurs, as sim/draw/priors.yaml: figures\nby them "
                  "stand beside those of the runs")
      ->type_name("FILE");
  AddOutputFormat(*app, state->format, "one object a run");
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunScore(state->options);
          }};
}

}  // namespace rocescope

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
  CLI::App* app = parent.add_subcommand(
      "score", "Score the diagnosis of a simulated run against its ground truth");
  app->footer(
      "Replays a run directory once for each view, which is a subset of its telemetry. A directory "
      "of\n"
      "scores, as written by testbeds/campaign, is summarised.\n"
      "\n"
      "Exit codes: 0 all goals are met, 1 one is missed, 2 an error.\n"
      "\n"
      "All columns are percentages: P is precision, R is recall; JOBS ARI is the adjusted Rand "
      "index of\n"
      "the assignment to jobs; PATH is the share of bytes on right paths; IN REACH is the share of "
      "bytes\n"
      "for which an sFlow sample can be expected. \"!\" marks a missed goal; \"few\" marks a "
      "confidence\n"
      "level with too few samples to judge. The views about faults have tables of their own:\n"
      "full (all telemetry), leaf-switch-counters (counters of leaves only) and "
      "port-sets-counters\n"
      "(mirrors of some ports, with counters).\n"
      "\n"
      "Examples:\n"
      "  rocescope score run/\n"
      "  rocescope score run/ --view leaves -o json > 0001.score.json\n"
      "  rocescope score campaign/scores/ --priors sim/draw/priors.yaml");
  app->add_option("PATH", state->options.path, "Run directory, or directory of *.score.json files")
      ->type_name("")
      ->required();
  Repeatable(app->add_option(
                    "--view", state->options.views,
                    "View (subset of the telemetry) to score: the name of one view; \"paths\" or\n"
                    "\"diagnosis\" for all views of that group; or \"all\" for one view with all\n"
                    "telemetry of the run, which scores only faults and has no goals.\n"
                    "Repeatable. Default: all views for which the run has telemetry")
                 ->type_name("NAME"));
  app->add_option("--report", state->options.report,
                  "Score this output of `rocescope replay -o json` instead of replaying")
      ->type_name("FILE");
  app->add_option("--priors", state->options.priors,
                  "File with the frequency of each fault type (like sim/draw/priors.yaml);\n"
                  "adds figures that are weighted by these frequencies")
      ->type_name("FILE");
  AddOutputFormat(*app, state->format, "one object for each run");
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunScore(state->options);
          }};
}

}  // namespace rocescope

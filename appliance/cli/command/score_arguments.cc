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
      "scores, as written by testbeds/campaign, is summarised, separately for each telemetry "
      "profile.\n"
      "\n"
      "Exit codes: 0 all goals are met, 1 at least one is missed, 2 an error, 3 no goal applies.\n"
      "\n"
      "All columns except RUNS are in percent: P is precision, R is recall; JOBS ARI is 100 times "
      "the\n"
      "adjusted Rand index of the assignment to jobs; PATH is the share of bytes whose path is "
      "correct;\n"
      "IN REACH is the share of bytes whose path the telemetry is expected to reveal: if only\n"
      "sFlow samples can reveal a path, its bytes are weighted by the probability of a sample.\n"
      "\"!\" marks a missed goal; \"few\" marks a confidence level with too few samples to judge.\n"
      "The views about faults have tables of their own: full (all kinds of telemetry),\n"
      "leaf-switch-counters (mirrors of leaves, sFlow, and the counters of switches, without\n"
      "hosts) and port-sets-counters (counters, and mirror sessions that copy several ports\n"
      "without identifying the port).\n"
      "\n"
      "Examples:\n"
      "  rocescope score run/\n"
      "  rocescope score run/ --view leaves -o json > 0001.score.json\n"
      "  rocescope score campaign/scores/ --priors sim/draw/priors.yaml");
  app->add_option("PATH", state->options.path, "Run directory, or directory of *.score.json files")
      ->type_name("")
      ->required();
  Repeatable(
      app->add_option(
             "--view", state->options.views,
             "View to score, that is, a subset of the telemetry. NAME: one view; \"paths\" or\n"
             "\"diagnosis\": all views of that group; \"all\": the view that scores the diagnosis\n"
             "with the complete telemetry of the run; its only goal is the number of suspected\n"
             "faults in long runs.\n"
             "Repeatable. Default: every view except \"all\" for which the run has the telemetry;\n"
             "if no view about faults is among them, also \"all\"")
          ->type_name("NAME"));
  app->add_option("--report", state->options.report,
                  "Score this output of `rocescope replay -o json` instead of replaying")
      ->type_name("FILE");
  app->add_option("--priors", state->options.priors,
                  "File with the frequency of each fault type (like sim/draw/priors.yaml);\n"
                  "adds figures that are weighted by these frequencies")
      ->type_name("FILE");
  app->add_flag("--summary", state->options.summary,
                "With -o json: print the figures about faults of all runs together as one\n"
                "object, instead of the score of each run");
  AddOutputFormat(*app, state->format, "one object for each run");
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunScore(state->options);
          }};
}

}  // namespace rocescope

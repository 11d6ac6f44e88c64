// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "analytics/job/job_nodes.h"
#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/job.h"
#include "base/time.h"

namespace rocescope {
namespace {

void AddId(CLI::App& app, uint64_t& id) {
  AddWhole(app, "ID", "", "Job ID in the scheduler", 1, std::numeric_limits<uint64_t>::max(),
           [&id](uint64_t number) { id = number; })
      ->required();
}

void AddSeconds(CLI::App& app, const std::string& name, uint64_t& seconds,
                const std::string& help) {
  constexpr auto kMost =
      std::chrono::floor<std::chrono::seconds>(kLatestTime.time_since_epoch()).count();
  AddWhole(app, name, "SECONDS", help, 1, kMost, [&seconds](uint64_t number) { seconds = number; });
}

CLI::Option* AddCount(CLI::App& app, const std::string& name, uint32_t& count,
                      const std::string& help) {
  return AddWhole(app, name, "N", help, 1, std::numeric_limits<uint32_t>::max(),
                  [&count](uint64_t number) { count = static_cast<uint32_t>(number); });
}

Command AddJobRegister(CLI::App& parent) {
  auto options = std::make_shared<JobRegisterOptions>();
  CLI::App* app = parent.add_subcommand("register", "Register the start of a job and its nodes");
  app->footer(
      "Registration is idempotent: registering an ended job again with the same start time has no "
      "effect.\n"
      "\n"
      "Examples:\n"
      "  rocescope job register 4711 --nodes 'gpu-[1-32]' --name pretrain --user ada\n"
      "  rocescope job register 4712 --nodes gpu-33:0-3 --nodes gpu-34:4-7 --appliance "
      "appliance.example:50051");
  AddId(*app, options->id);
  Repeatable(AddParsed(*app, "--nodes", "LIST",
                       "Host list of the job's nodes; add :GPUS if the job uses only some of\n"
                       "their GPUs: gpu-[1-4]:0-3,7. Repeatable",
                       ParseJobNodes,
                       [options](std::vector<AllocatedNode> nodes) {
                         std::ranges::move(nodes, std::back_inserter(options->nodes));
                       }))
      ->required();
  app->add_option("--name", options->name, "Name of the job")->type_name("NAME");
  app->add_option("--user", options->user, "User of the job")->type_name("NAME");
  AddSeconds(*app, "--start", options->start_seconds,
             "Start time, in seconds since 1970. Default: now");
  AddSeconds(*app, "--limit", options->limit_seconds,
             "Time at which the time limit expires, in seconds since 1970");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunJobRegister(*options); }};
}

Command AddJobEnd(CLI::App& parent) {
  auto options = std::make_shared<JobEndOptions>();
  CLI::App* app = parent.add_subcommand("end", "Register the end of a job");
  AddId(*app, options->id);
  AddSeconds(*app, "--at", options->end_seconds, "End time, in seconds since 1970. Default: now");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunJobEnd(*options); }};
}

Command AddJobList(CLI::App& parent) {
  struct State {
    JobListOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("list", "List registered jobs");
  app->add_flag("--ended", state->options.ended_too, "Include ended jobs");
  AddOutputFormat(*app, state->format, "one object");
  AddClient(*app, state->options.client);
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunJobList(state->options);
          }};
}

Command AddJobShow(CLI::App& parent) {
  struct State {
    JobShowOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("show", "Print a registered job and its status");
  AddId(*app, state->options.id);
  AddOutputFormat(*app, state->format, "one object");
  AddClient(*app, state->options.client);
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunJobShow(state->options);
          }};
}

Command AddJobPlace(CLI::App& parent) {
  struct State {
    JobPlaceOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  JobPlaceOptions& options = state->options;
  CLI::App* app = parent.add_subcommand("place", "Recommend healthy, idle nodes for a job");
  app->footer(
      "Prints the recommended nodes as a host list, and the reasons to standard error. -o json "
      "prints all\n"
      "candidates with score and reasons. Exit code 1: not enough suitable nodes.\n"
      "\n"
      "Examples:\n"
      "  rocescope job place --gpus 64\n"
      "  sbatch -N 4 -w \"$(rocescope job place --nodes 4 --candidates 'gpu-[1-32]')\" train.sh");
  CLI::Option_group* const size = app->add_option_group("size");
  AddCount(*size, "--nodes", options.nodes, "Number of whole nodes that the job needs");
  CLI::Option* gpus = AddCount(*size, "--gpus", options.gpus, "Number of GPUs that the job needs");
  size->require_option(1);
  AddCount(*app, "--gpus-per-node", options.gpus_per_node, "GPUs to use on each node. Default: all")
      ->needs(gpus);
  const auto lists = [app](const std::string& name, std::vector<std::string>& to,
                           const std::string& help) {
    Repeatable(app->add_option(name, to, help + ". Repeatable")->type_name("LIST"));
  };
  lists("--candidates", options.candidates, "Host list of candidates. Default: all hosts");
  lists("--exclude", options.exclude, "Host list of nodes to exclude");
  AddWhole(*app, "--job", "ID", "ID of the requesting job: its own nodes count as idle", 1,
           std::numeric_limits<uint64_t>::max(),
           [&options](uint64_t number) { options.job = number; });
  app->add_flag("--without-telemetry", options.without_telemetry,
                "Recommend nodes even without any telemetry of the fabric");
  AddOutputFormat(*app, state->format, "one object");
  AddClient(*app, options.client);
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunJobPlace(state->options);
          }};
}

}  // namespace

Command AddJob(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("job", "Register jobs at a running appliance, and query them");
  app->require_subcommand(1);
  app->footer(
      "`rocescope job COMMAND --help` describes one command.\n"
      "Exit codes: 0 success, 1 the appliance refused the request, does not know the job, or has "
      "no\n"
      "suitable nodes, 2 invalid command line or TLS file, 3 the appliance did not answer in "
      "time.");
  const std::vector<Command> commands = {AddJobRegister(*app), AddJobEnd(*app), AddJobList(*app),
                                         AddJobShow(*app), AddJobPlace(*app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

}  // namespace rocescope

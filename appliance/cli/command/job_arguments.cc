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
#include "appliance/common/config/duration.h"
#include "base/time.h"

namespace rocescope {
namespace {

// Longer ones would not end before the clock's own numbers do.
Result<Duration> ParseTimeout(std::string_view text) {
  constexpr Duration kMost = std::chrono::hours(24);
  const Result<Duration> timeout = ParseDuration(text);
  if (!timeout || *timeout <= kMost) return timeout;
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is more than a day", text));
}

void AddClient(CLI::App& app, JobsClientOptions& client) {
  app.add_option("--box", client.box, "where the box's gRPC listens")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  AddParsed(app, "--timeout", "TIME", "for all of it; 2s if not given", ParseTimeout,
            [&client](Duration timeout) {
              client.timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout);
            });
  app.add_option("--ca", client.ca, "PEM file of who signs the box's certificate: calls by TLS")
      ->type_name("FILE");
  app.add_option("--cert", client.certificate, "PEM file of one's own certificate")
      ->type_name("FILE");
  app.add_option("--key", client.key, "PEM file of its key")->type_name("FILE");
}

void AddId(CLI::App& app, uint64_t& id) {
  AddWhole(app, "ID", "", "the scheduler's number of the job", 1,
           std::numeric_limits<uint64_t>::max(), [&id](uint64_t number) { id = number; })
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
  CLI::App* app = parent.add_subcommand("register", "Say that a job has begun, and on which nodes");
  app->footer(
      "Said twice is said once. What is registered again with the start of a job that has ended\n"
      "is that job, and stays ended.\n\n"
      "Examples:\n"
      "  rocescope job register 4711 --nodes 'gpu-[1-32]' --name pretrain --user ada\n"
      "  rocescope job register 4712 --nodes gpu-33:0-3 --nodes gpu-34:4-7 --box box:50051");
  AddId(*app, options->id);
  Repeatable(AddParsed(*app, "--nodes", "LIST",
                       "host list of its nodes; with :GPUS where not all of their GPUs are\nthe "
                       "job's: gpu-[1-4]:0-3,7; may be repeated",
                       ParseJobNodes,
                       [options](std::vector<AllocatedNode> nodes) {
                         std::ranges::move(nodes, std::back_inserter(options->nodes));
                       }))
      ->required();
  app->add_option("--name", options->name, "of the job")->type_name("NAME");
  app->add_option("--user", options->user, "whose it is")->type_name("NAME");
  AddSeconds(*app, "--start", options->start_seconds,
             "when it began, since 1970; now if not given");
  AddSeconds(*app, "--limit", options->limit_seconds, "when its time limit is over, likewise");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunJobRegister(*options); }};
}

Command AddJobEnd(CLI::App& parent) {
  auto options = std::make_shared<JobEndOptions>();
  CLI::App* app = parent.add_subcommand("end", "Say that a job has ended");
  AddId(*app, options->id);
  AddSeconds(*app, "--at", options->end_seconds, "when, since 1970; now if not given");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunJobEnd(*options); }};
}

Command AddJobList(CLI::App& parent) {
  struct State {
    JobListOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("list", "Print the jobs that are registered");
  app->add_flag("--ended", state->options.ended_too, "also those that have ended");
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
  CLI::App* app =
      parent.add_subcommand("show", "Print a job that is registered, and how it is doing");
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
  CLI::App* app = parent.add_subcommand(
      "place", "Ask where a job had best run: prints free, well nodes near each other");
  app->footer(
      "Prints the nodes as a host list, and why to standard error; -o json: all candidates, each "
      "with\nits score and reasons. Exit code 1 where too few suit.\n\n"
      "Examples:\n"
      "  rocescope job place --gpus 64\n"
      "  sbatch -N 4 -w \"$(rocescope job place --nodes 4 --candidates 'gpu-[1-32]')\" train.sh");
  CLI::Option_group* const size = app->add_option_group("size");
  AddCount(*size, "--nodes", options.nodes, "that the job wants, each whole");
  CLI::Option* gpus = AddCount(*size, "--gpus", options.gpus, "that the job wants");
  size->require_option(1);
  AddCount(*app, "--gpus-per-node", options.gpus_per_node, "all that a node has if not given")
      ->needs(gpus);
  const auto lists = [app](const std::string& name, std::vector<std::string>& to,
                           const std::string& help) {
    Repeatable(app->add_option(name, to, help + "; may be repeated")->type_name("LIST"));
  };
  lists("--candidates", options.candidates, "host list; all hosts if not given");
  lists("--exclude", options.exclude, "host list of those that are not to be looked at");
  AddWhole(*app, "--job", "ID", "number of the job that asks: its nodes are free for it", 1,
           std::numeric_limits<uint64_t>::max(),
           [&options](uint64_t number) { options.job = number; });
  app->add_flag("--missing", options.missing,
                "an answer is wanted even if nothing was seen of the fabric");
  AddOutputFormat(*app, state->format, "one object");
  AddClient(*app, options.client);
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunJobPlace(state->options);
          }};
}

}  // namespace

Command AddJob(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("job", "Tell a box that runs of jobs, and ask for them");
  app->require_subcommand(1);
  app->footer(
      "rocescope job COMMAND --help describes one command.\n"
      "Exit codes: 0 done, 1 the box refuses, knows no such job or no place for it, 2 the command "
      "line or a file "
      "of\nTLS is wrong, 3 nobody answers in time.");
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

// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/finding.h"
#include "appliance/common/config/duration.h"
#include "base/time.h"

namespace rocescope {
namespace {

// The appliance refuses longer mutes, too.
Result<Duration> ParseMuteDuration(std::string_view text) {
  constexpr Duration kMost = std::chrono::hours(24 * 30);
  const Result<Duration> duration = ParseDuration(text);
  if (!duration || *duration <= kMost) return duration;
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is longer than 30 days", text));
}

void AddIdentity(CLI::App& app, FindingOptions& options, const std::string& direction) {
  app.add_option("KIND", options.kind, "Fault kind, for example gray_loss")
      ->type_name("")
      ->required();
  app.add_option("PLACE", options.place,
                 "Place of the finding: a link, switch, NIC or GPU, as in `rocescope get findings\n"
                 "-o json`, for example leaf1:3-spine0:1")
      ->type_name("")
      ->required();
  app.add_option("--direction", options.direction, direction)->type_name("PORT");
}

void AddComment(CLI::App& app, std::string& comment) {
  app.add_option("--comment", comment, "Comment for other operators, for example a ticket number")
      ->type_name("TEXT");
}

Command AddFindingAcknowledge(CLI::App& parent) {
  const auto options = std::make_shared<FindingOptions>();
  CLI::App* app =
      parent.add_subcommand("acknowledge", "Acknowledge the latest occurrence of a fault");
  app->footer(
      "The acknowledgement ends with the occurrence. If the fault comes back, acknowledge it "
      "again.\n"
      "An acknowledgement does not stop alerts; `rocescope finding mute` does.\n"
      "\n"
      "Example:\n"
      "  rocescope finding acknowledge gray_loss leaf1:3-spine0:1 --comment 'ticket 4711'");
  AddIdentity(*app, *options,
              "Sending port. Required if several directions of the link have a finding");
  AddComment(*app, options->comment);
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunFindingAcknowledge(*options); }};
}

Command AddFindingUnacknowledge(CLI::App& parent) {
  const auto options = std::make_shared<FindingOptions>();
  CLI::App* app = parent.add_subcommand("unacknowledge", "Withdraw the acknowledgement of a fault");
  AddIdentity(*app, *options, "Sending port. Default: every direction");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunFindingUnacknowledge(*options); }};
}

Command AddFindingMute(CLI::App& parent) {
  const auto options = std::make_shared<FindingOptions>();
  CLI::App* app =
      parent.add_subcommand("mute", "Suppress the alerts of a kind of fault at a place");
  app->footer(
      "A mute covers all occurrences until it expires. It can be set before a fault occurs, for\n"
      "maintenance. Repeat the command to replace the duration and the comment.\n"
      "\n"
      "Example:\n"
      "  rocescope finding mute flap leaf1:3-spine0:1 --for 2h --comment 'replacing the cable'");
  AddIdentity(*app, *options, "Sending port: mute only this direction. Default: every direction");
  AddParsed(*app, "--for", "TIME", "Duration of the mute, at most 30d. Default: 1d",
            ParseMuteDuration, [options](Duration duration) { options->duration = duration; });
  AddComment(*app, options->comment);
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunFindingMute(*options); }};
}

Command AddFindingUnmute(CLI::App& parent) {
  const auto options = std::make_shared<FindingOptions>();
  CLI::App* app = parent.add_subcommand("unmute", "Withdraw a mute");
  AddIdentity(
      *app, *options,
      "Direction of the mute, as `rocescope finding list` prints it. Default: withdraw the\n"
      "mute for all directions");
  AddClient(*app, options->client);
  return {.app = app, .run = [options] { return RunFindingUnmute(*options); }};
}

Command AddFindingList(CLI::App& parent) {
  struct State {
    FindingListOptions options;
    std::string format = "text";
  };
  const auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("list", "List acknowledgements and mutes");
  app->add_flag("--expired", state->options.expired_too, "Include expired mutes");
  AddOutputFormat(*app, state->format, "one object");
  AddClient(*app, state->options.client);
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunFindingList(state->options);
          }};
}

}  // namespace

Command AddFinding(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("finding", "Acknowledge and mute findings");
  app->require_subcommand(1);
  app->footer(
      "`rocescope finding COMMAND --help` describes one command. `rocescope get findings` lists "
      "the\n"
      "findings. Only clients with the role operator may acknowledge and mute.\n"
      "Exit codes: 0 success, 1 the appliance refused the request or does not know the finding,\n"
      "2 invalid command line or TLS file, 3 the appliance did not answer in time.");
  const std::vector<Command> commands = {AddFindingAcknowledge(*app), AddFindingUnacknowledge(*app),
                                         AddFindingMute(*app), AddFindingUnmute(*app),
                                         AddFindingList(*app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The command line; the options of each subcommand are in command/*_arguments.cc.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/heap.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/stop_signal.h"
#include "appliance/cli/command/uncaught.h"
#include "base/file_size_signal.h"

namespace rocescope {
namespace {

constexpr const char* kExitCodes =
    "Results go to standard output, messages to standard error. The first SIGINT (Ctrl-C) or\n"
    "SIGTERM ends the input, and the results so far are printed; a second one terminates "
    "rocescope.\n"
    "Exit codes:\n"
    "  0  success, also if the program that reads standard output closes the pipe (as in | head),\n"
    "     or if a signal ends the reading of standard input\n"
    "  1  the results cover only a part of the input: it is damaged, a run lacks data that its\n"
    "     run.json lists, or a signal ended the reading of a file\n"
    "  2  the command line is invalid; nothing was read\n"
    "  3  an input is missing or has an unknown format; nothing is printed\n"
    "  4  output failed, out of memory, or an internal error";

// Returns the message about an unknown command, for which CLI11 has none; "" if all are known.
std::string DescribeUnknown(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path;
  for (const std::string& word : words) {
    const auto commands =
        at->get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
    // A group of options is a subcommand without a name.
    if (commands.empty() || word.starts_with("-")) break;
    path += (path.empty() ? "" : " ") + word;
    const auto known = std::ranges::find(commands, word, &CLI::App::get_name);
    if (known == commands.end()) {
      std::string names;
      for (const CLI::App* command : commands) names += " " + command->get_name();
      return fmt::format("unknown command \"{}\"; commands:{}", path, names);
    }
    at = *known;
  }
  return "";
}

int PrintAndExit(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "RoCEv2 telemetry and diagnosis: captures, mirrors, INT, sFlow, counters and host data.",
      "rocescope");
  app.footer(std::string("`rocescope help COMMAND` describes one command.\n\n") + kExitCodes);
  app.set_version_flag("--version", "rocescope " ROCESCOPE_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.get_formatter()->column_width(26);
  app.require_subcommand(1);
  const std::vector<Command> commands = {
      AddDecode(app),   AddReplay(app),        AddCapture(app),     AddRun(app),
      AddAgent(app),    AddConfig(app),        AddHealthcheck(app), AddDoctor(app),
      AddGet(app),      AddSupportBundle(app), AddHistory(app),     AddScore(app),
      AddTopology(app), AddCounters(app),      AddPlan(app),        AddJob(app),
      AddFinding(app),  AddDetectors(app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);

  const auto usage_error = [&](const CLI::App& at, const std::string& message) {
    Message(message);
    std::string words;
    for (const CLI::App* part = &at; part != nullptr; part = part->get_parent()) {
      words = part->get_name() + (words.empty() ? "" : " ") + words;
    }
    (void)WriteAll(STDERR_FILENO, fmt::format("Run `{} --help` for usage.\n", words));
    return kExitUsage;
  };
  const auto chosen = [&]() -> const CLI::App& {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
  };
  // `help COMMAND` is `COMMAND --help`. CLI11 expects the last argument first.
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    if (DescribeUnknown(app, words).empty()) words.emplace_back("--help");
  }
  if (const std::string unknown = DescribeUnknown(app, words); !unknown.empty()) {
    return usage_error(app, unknown);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    for (const Command& command : commands) {
      if (!command.app->parsed()) continue;
      if (!command.ends_input_itself) EndInputOnSignal();
      const int code = command.run();
      if (!command.ends_input_itself) ReportDenials();
      return code;
    }
  } catch (const CLI::CallForHelp&) {
    return PrintAndExit(app.help());
  } catch (const CLI::CallForVersion&) {
    return PrintAndExit(app.version() + "\n");
  } catch (const CLI::ParseError& error) {
    return usage_error(chosen(), error.what());
  }
  return kExitUsage;
}

}  // namespace
}  // namespace rocescope

// Runs before the constructors of global objects, because those of Protobuf allocate memory.
__attribute__((constructor(101))) static void BeforeGlobalObjects() {
  rocescope::EndOnUncaughtExceptions();
}

int main(int argc, char** argv) {
  rocescope::HoldStandardStreams();
  rocescope::IgnoreFileSizeSignal();
  // The agent shares its host with the job that it monitors, and has no large tables. In a running
  // appliance, receive threads must not wait for a thread that frees its results.
  const std::string_view command = argc < 2 ? "" : argv[1];
  if (command != "agent" && command != "run") rocescope::PrepareHeap();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is then reported by write()
  try {
    return rocescope::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    rocescope::ReportOutOfMemory(
        ": use fewer captures or logs, a shorter part of a capture (replay's --since and --until), "
        "or fewer mbufs");
    return rocescope::kExitOutput;
  } catch (const std::exception& error) {
    rocescope::Message(fmt::format("internal error: {}", error.what()));
    return rocescope::kExitOutput;
  }
}

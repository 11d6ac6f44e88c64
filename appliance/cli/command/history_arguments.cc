// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/history.h"

namespace rocescope {
namespace {

constexpr const char* kHistoryExitCodes =
    "Exit codes: 0 success, 2 the command line is invalid or the output exists, 3 a file is "
    "missing,\n"
    "in use, damaged or not a rocescope file, 4 the disk is full, a signal stopped the copying, or "
    "standard\n"
    "output cannot be written.\n";

using FileCommand = int (*)(const HistoryFileOptions&);

CLI::App* AddFileCommand(CLI::App& parent, const std::string& name, const std::string& summary,
                         FileCommand run, std::vector<Command>& commands,
                         std::shared_ptr<HistoryFileOptions> options) {
  CLI::App* app = parent.add_subcommand(name, summary);
  commands.push_back({.app = app, .run = [options, run] { return run(*options); }});
  return app;
}

void AddConfiguredFile(CLI::App& app, HistoryFileOptions& options) {
  app.add_option("--config", options.config, "Configuration of the appliance, which names the file")
      ->type_name("FILE")
      ->capture_default_str();
  CLI::Option* const jobs =
      app.add_flag("--jobs", options.jobs,
                   "Use the file of registered jobs (key `jobs.file`) instead of the history");
  app.add_flag("--findings", options.findings,
               "Use the file of acknowledgements and mutes (key `findings.file`) instead of the "
               "history")
      ->excludes(jobs);
}

void AddHistoryBackup(CLI::App& parent, std::vector<Command>& commands) {
  auto options = std::make_shared<HistoryFileOptions>();
  CLI::App* app = AddFileCommand(
      parent, "backup", "Back up the file of history, jobs or findings while the appliance runs",
      RunHistoryBackup, commands, options);
  app->footer(
      std::string(
          "The backup has the state at the start of the command. The command reads 1 MiB at a "
          "time and\n"
          "pauses as long as each step took, so that the appliance can write. The backup is "
          "checked\n"
          "completely (PRAGMA integrity_check) before it gets its name. Its mode is 0600.\n") +
      kHistoryExitCodes +
      "\n"
      "Examples:\n"
      "  rocescope history backup --output /backup/history-$(date +%F).db\n"
      "  rocescope history backup --jobs --output /backup/jobs-$(date +%F).db");
  AddConfiguredFile(*app, *options);
  app->add_option("--output", options->file, "File to write; an existing file is not replaced")
      ->type_name("FILE")
      ->required();
}

void AddHistoryRestore(CLI::App& parent, std::vector<Command>& commands) {
  auto options = std::make_shared<HistoryFileOptions>();
  CLI::App* app =
      AddFileCommand(parent, "restore", "Restore a backup while the appliance is stopped",
                     RunHistoryRestore, commands, options);
  app->footer(std::string("The backup must be a file of this or an earlier version of rocescope. "
                          "It is checked completely\n"
                          "before anything changes, and is copied, not moved. The previous file "
                          "becomes\n"
                          "FILE.replaced-TIME. The copies FILE.before-schema-N, which an upgrade "
                          "leaves, can be restored\n"
                          "too.\n") +
              kHistoryExitCodes +
              "\n"
              "Example:\n"
              "  systemctl stop rocescope\n"
              "  rocescope history restore /backup/history-2026-01-31.db\n"
              "  systemctl start rocescope");
  app->add_option("BACKUP", options->file, "File that `history backup` wrote")
      ->type_name("")
      ->required();
  AddConfiguredFile(*app, *options);
}

void AddHistoryInfo(CLI::App& parent, std::vector<Command>& commands) {
  auto options = std::make_shared<HistoryFileOptions>();
  CLI::App* app =
      AddFileCommand(parent, "info", "Print schema, time span and row counts of a file or a backup",
                     RunHistoryInfo, commands, options);
  app->footer(std::string("The appliance may use the file at the same time. The command counts "
                          "rows for at most 30 s.\n") +
              kHistoryExitCodes);
  app->add_option("FILE", options->file,
                  "File of the history, of jobs or of findings, or a backup of one")
      ->type_name("")
      ->required();
}

}  // namespace

Command AddHistory(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "history", "Back up, restore and describe the files of history, jobs and findings");
  app->require_subcommand(1);
  app->footer("`rocescope history COMMAND --help` describes one command.");
  std::vector<Command> commands;
  AddHistoryBackup(*app, commands);
  AddHistoryRestore(*app, commands);
  AddHistoryInfo(*app, commands);
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

}  // namespace rocescope

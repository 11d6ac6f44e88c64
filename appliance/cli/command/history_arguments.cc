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
  CLI::App* app =
      AddFileCommand(parent, "backup", "Back up the history, also while the appliance runs",
                     RunHistoryBackup, commands, options);
  app->footer(
      std::string(
          "The backup contains the data at the start of the command. The command copies 1 MiB at "
          "a\n"
          "time, and pauses after each step for as long as the step took, so that the appliance "
          "can write.\n"
          "The backup appears under its name after a complete check (PRAGMA integrity_check). Its "
          "mode is\n"
          "0600.\n") +
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
  app->footer(
      std::string("Accepts backups of this and of earlier versions of rocescope, and the "
                  "copies\n"
                  "FILE.before-schema-N that upgrades make. The backup is checked completely "
                  "before any file\n"
                  "changes. It is copied, not moved. The current file is renamed to "
                  "FILE.replaced-TIME.\n") +
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
      AddFileCommand(parent, "info", "Print the schema version, time span and row counts of a file",
                     RunHistoryInfo, commands, options);
  app->footer(std::string("The command also works while the appliance uses the file. It counts "
                          "rows for at most 30 s.\n") +
              kHistoryExitCodes);
  app->add_option("FILE", options->file,
                  "History, file of registered jobs, file of acknowledgements and mutes, or a\n"
                  "backup of one of them")
      ->type_name("")
      ->required();
}

}  // namespace

Command AddHistory(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "history", "Back up, restore and inspect the files in which the appliance stores data");
  app->require_subcommand(1);
  app->footer(
      "These files are the history and, with --jobs and --findings, the registered jobs, and the\n"
      "acknowledgements and mutes. `rocescope history COMMAND --help` describes one command.");
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

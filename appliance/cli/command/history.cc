// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/history.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/stop_signal.h"
#include "appliance/common/config/config.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "appliance/daemon/history/backup.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

DatabaseName NameOf(const HistoryFileOptions& options) {
  if (options.findings) return DatabaseName::kFindings;
  return options.jobs ? DatabaseName::kJobs : DatabaseName::kHistory;
}

// Path of the file that the configuration names.
Result<std::string> FileOf(const HistoryFileOptions& options) {
  const Result<ApplianceConfig> config = LoadConfig(options.config);
  if (!config) return tl::unexpected(config.error());
  const std::string& file = options.findings ? config->findings.file
                            : options.jobs   ? config->jobs.file
                                             : config->history.file;
  if (!file.empty()) return file;
  return MakeError(
      ErrorCode::kNotFound,
      fmt::format(
          "{}: key `{}` is not set, so the appliance has no such file; set the key, or name "
          "another configuration with --config",
          options.config, KeyOf(NameOf(options))));
}

int FailWith(const Error& error) {
  MessageLines(error.message);
  return error.code == ErrorCode::kResourceExhausted ? kExitOutput : kExitUnreadable;
}

int PrintText(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

std::string UtcText(Timestamp time) {
  return fmt::format("{} UTC", UtcDayAndTime(ToNanoseconds(time)).substr(0, 19));
}

std::string_view ContentOf(DatabaseName name) {
  switch (name) {
    case DatabaseName::kHistory:
      break;
    case DatabaseName::kJobs:
      return "registered jobs";
    case DatabaseName::kFindings:
      return "acknowledgements and mutes";
  }
  return "history";
}

std::string TextOfInfo(const std::string& path, const DatabaseInfo& info) {
  std::string text =
      fmt::format("{}: {}, {}\n", Visible(path), ContentOf(info.name), HumanBytes(info.bytes));
  const std::string supported =
      fmt::format("rocescope {} reads schemas 1 to {}", ROCESCOPE_VERSION, info.supported);
  text += fmt::format(
      "Schema: {} ({}{})\n", info.schema, supported,
      info.schema > info.supported ? "; this file was written by a later version: use that version"
      : info.schema < info.supported
          ? fmt::format(", and changes this file to {0} when the appliance opens it; "
                        "versions that read up to schema {1} then refuse it",
                        info.supported, info.supported - 1)
          : "; earlier versions may refuse this file");
  if (info.first && info.last) {
    text += fmt::format("Time: {} to {}\n", UtcText(*info.first), UtcText(*info.last));
  }
  if (info.tables.empty()) return text;
  TextTable table({{"TABLE"}, {"ROWS", Align::kRight}});
  for (const DatabaseInfo::Table& one : info.tables) {
    table.Add({one.name, one.rows ? WithThousands(*one.rows) : "not counted (too many)"});
  }
  return text + table.Render(0);
}

}  // namespace

int RunHistoryBackup(const HistoryFileOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(options.file, error)) {
    Message(fmt::format("{}: the file exists and is not replaced; use another path", options.file));
    return kExitUsage;
  }
  const Result<std::string> file = FileOf(options);
  if (!file) return FailWith(file.error());
  const auto copied = BackUp(NameOf(options), *file, options.file, InputEndedBySignal);
  if (!copied) return FailWith(copied.error());
  return PrintText(fmt::format("{}: copied to {} ({}, schema {}) and checked\n", Visible(*file),
                               Visible(options.file), HumanBytes(copied->bytes), copied->schema));
}

int RunHistoryRestore(const HistoryFileOptions& options) {
  const Result<std::string> file = FileOf(options);
  if (!file) return FailWith(file.error());
  const auto copied =
      Restore(NameOf(options), options.file, *file, WallClock(), InputEndedBySignal);
  if (!copied) return FailWith(copied.error());
  std::string text = fmt::format("{}: restored from {} ({}, schema {})\n", Visible(*file),
                                 Visible(options.file), HumanBytes(copied->bytes), copied->schema);
  if (!copied->replaced.empty()) {
    text += fmt::format("The previous file is {}. Remove it when you no longer need it.\n",
                        Visible(copied->replaced));
  }
  return PrintText(text);
}

int RunHistoryInfo(const HistoryFileOptions& options) {
  constexpr std::chrono::seconds kLongest(30);
  const auto info = Inspect(options.file, kLongest);
  if (!info) return FailWith(info.error());
  return PrintText(TextOfInfo(options.file, *info));
}

}  // namespace rocescope

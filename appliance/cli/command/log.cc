// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/log.h"

#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include "appliance/cli/command/message.h"
#include "appliance/common/report/json_line.h"
#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

std::atomic<LogFormat> log_format = LogFormat::kText;

std::string_view NameOf(spdlog::level::level_enum level) {
  if (level == spdlog::level::err) return "ERROR";
  return level == spdlog::level::warn ? "WARNING" : "INFO";
}

class LineFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string time = UtcMilliseconds(message.time);
    const std::string_view component(message.logger_name.data(), message.logger_name.size());
    const std::string_view text(message.payload.data(), message.payload.size());
    std::string line;
    if (log_format == LogFormat::kText) {
      line = fmt::format("{} {} {}: {}", time, NameOf(message.level), component,
                         Visible(WithShortQuotes(text)));
    } else {
      line =
          fmt::format(R"({{"time":"{}","severity":"{}","component":)", time, NameOf(message.level));
      AppendJsonString(line, component);
      line += R"(,"message":)";
      AppendJsonString(line, text);
      line += '}';
    }
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>();
  }

 private:
  // ISO 8601, for example 2026-01-31T23:59:59.123Z.
  static std::string UtcMilliseconds(spdlog::log_clock::time_point time) {
    const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
    const auto day = std::chrono::floor<std::chrono::days>(since);
    const std::chrono::year_month_day date{std::chrono::sys_days(day)};
    const std::chrono::hh_mm_ss clock(since - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                       clock.subseconds().count());
  }
};

spdlog::sinks::sink& Sink() {
  static spdlog::sinks::stderr_sink_mt sink;
  [[maybe_unused]] static const bool is_set = [] {
    sink.set_formatter(std::make_unique<LineFormatter>());
    return true;
  }();
  return sink;
}

spdlog::level::level_enum LevelOf(Severity severity) {
  if (severity == Severity::kError) return spdlog::level::err;
  return severity == Severity::kWarning ? spdlog::level::warn : spdlog::level::info;
}

}  // namespace

void SetLogFormat(LogFormat format) { log_format = format; }

void Log(Severity severity, std::string_view component, std::string_view text) {
  if (text.starts_with(component) && text.substr(component.size()).starts_with(": ")) {
    text.remove_prefix(component.size() + 2);
  }
  try {
    Sink().log({spdlog::string_view_t(component.data(), component.size()), LevelOf(severity),
                spdlog::string_view_t(text.data(), text.size())});
    Sink().flush();
  } catch (const std::exception&) {
    // The line may be about standard error itself, or about a lack of memory.
  }
}

void LogLines(Severity severity, std::string_view component, std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Log(severity, component, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void LogFatal(std::string_view component, std::string_view text) {
  if (log_format == LogFormat::kText) return MessageLines(text);
  LogLines(Severity::kError, component, text);
}

}  // namespace rocescope

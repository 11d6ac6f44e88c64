// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "appliance/cli/command/message.h"
#include "appliance/common/report/json_line.h"
#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

std::atomic<LogFormat> log_format = LogFormat::kText;

std::unique_ptr<spdlog::formatter> FormatterOf(LogFormat format) {
  return std::make_unique<spdlog::pattern_formatter>(format == LogFormat::kText
                                                         ? "%Y-%m-%dT%H:%M:%S.%eZ %v"
                                                         : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})",
                                                     spdlog::pattern_time_type::utc);
}

spdlog::sinks::sink& Sink() {
  static spdlog::sinks::stderr_sink_mt sink;
  [[maybe_unused]] static const bool is_set = [] {
    sink.set_formatter(FormatterOf(LogFormat::kText));
    return true;
  }();
  return sink;
}

std::string_view NameOf(Severity severity) {
  if (severity == Severity::kError) return "ERROR";
  return severity == Severity::kWarning ? "WARNING" : "INFO";
}

// The line without its time.
std::string LineOf(Severity severity, std::string_view component, std::string_view text) {
  if (log_format == LogFormat::kText) {
    return fmt::format("{} {}: {}", NameOf(severity), component, Visible(WithShortQuotes(text)));
  }
  std::string line = fmt::format(R"("severity":"{}","component":)", NameOf(severity));
  AppendJsonString(line, component);
  line += R"(,"message":)";
  AppendJsonString(line, text);
  return line;
}

}  // namespace

void SetLogFormat(LogFormat format) {
  log_format = format;
  Sink().set_formatter(FormatterOf(format));
}

void Log(Severity severity, std::string_view component, std::string_view text) {
  if (text.starts_with(component) && text.substr(component.size()).starts_with(": ")) {
    text.remove_prefix(component.size() + 2);
  }
  try {
    const std::string line = LineOf(severity, component, text);
    Sink().log({"", spdlog::level::info, line});
    Sink().flush();
  } catch (const std::exception&) {
    // The line may be about standard error itself, or about a lack of memory.
  }
}

Notify LogAs(std::string component) {
  return [component = std::move(component)](Severity severity, const std::string& text) {
    Log(severity, component, text);
  };
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

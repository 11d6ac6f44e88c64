// SPDX-License-Identifier: BSD-3-Clause
// Log of the commands that run until a signal (`run`, `agent`), on standard error. Best effort: if
// standard error is closed or full, the line is lost and the program continues.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "appliance/common/process/notice.h"

namespace rocescope {

enum class LogFormat : uint8_t {
  kText,  // TIME SEVERITY COMPONENT: MESSAGE
  kJson,  // one object per line: time, severity, component, message
};

// Call it once, before other threads log. Until then, the format is text.
void SetLogFormat(LogFormat format);

// Times are UTC with milliseconds. Control characters are escaped. A prefix "COMPONENT: " of the
// text is not repeated. Thread-safe.
void Log(Severity severity, std::string_view component, std::string_view text);

// Returns a callback that logs messages of the component.
Notify LogAs(std::string component);

// Logs each line of `text`, such as the errors in a configuration file.
void LogLines(Severity severity, std::string_view component, std::string_view text);

// Reports why the command ends: in JSON as errors of the log, otherwise as messages (message.h).
void LogFatal(std::string_view component, std::string_view text);

}  // namespace rocescope

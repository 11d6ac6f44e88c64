// SPDX-License-Identifier: BSD-3-Clause
// Callback for log messages. Components report through it, so that they do not depend on the
// logging library.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace rocescope {

enum class Severity : uint8_t {
  kInfo,
  kWarning,  // needs attention
  kError,    // something stopped
};

// Receives a message for the log. Any thread may call it.
using Notify = std::function<void(Severity, const std::string&)>;

}  // namespace rocescope

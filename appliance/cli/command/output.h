// SPDX-License-Identifier: BSD-3-Clause
// Standard output, written in large pieces and checked: a full disk is an error, a reader that left
// (`rocescope decode x.pcap | head`) is not.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

enum class OutputState : uint8_t {
  kOpen,
  kReaderGone,  // EPIPE: nobody wants the rest
  kFailed,
};

// Writes all of `text` to the file descriptor. SIGPIPE must be ignored (main does that). On
// kFailed errno tells why.
OutputState WriteAll(int file_descriptor, std::string_view text);

// The same to standard output; a failure is reported on standard error.
OutputState WriteToStdout(std::string_view text);

}  // namespace rocescope

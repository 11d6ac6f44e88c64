// SPDX-License-Identifier: BSD-3-Clause
// Checked writes to standard output: a full disk is an error, a closed pipe (`rocescope decode
// x.pcap | head`) is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

enum class OutputState : uint8_t {
  kOpen,
  kReaderGone,  // EPIPE: the reader closed the pipe
  kFailed,
};

// Writes all of `text` to the file descriptor. SIGPIPE must be ignored (main does that). On
// kFailed, errno has the reason.
OutputState WriteAll(int file_descriptor, std::string_view text);

// Width of text for people on standard output: that of the terminal, otherwise of the environment
// variable COLUMNS. 100 if standard output is not a terminal, so that the same input gives the same
// bytes.
size_t TextWidth();

// Writes to standard output; reports a failure on standard error.
OutputState WriteToStdout(std::string_view text);

}  // namespace rocescope

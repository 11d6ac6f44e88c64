// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "appliance/cli/command/message.h"

namespace rocescope {

OutputState WriteAll(int file_descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file_descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Another process shares the pipe and made it non-blocking.
      pollfd ready = {.fd = file_descriptor, .events = POLLOUT, .revents = 0};
      poll(&ready, 1, -1);
    } else if (errno == EPIPE) {
      return OutputState::kReaderGone;
    } else if (errno != EINTR) {
      return OutputState::kFailed;
    }
  }
  return OutputState::kOpen;
}

OutputState WriteToStdout(std::string_view text) {
  const OutputState state = WriteAll(STDOUT_FILENO, text);
  if (state == OutputState::kFailed) {
    Message(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return state;
}

}  // namespace rocescope

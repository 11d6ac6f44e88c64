// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

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

size_t TextWidth() {
  constexpr size_t kUsual = 100;
  constexpr size_t kLeast = 40;
  constexpr size_t kMost = 10'000;
  if (isatty(STDOUT_FILENO) == 0) return kUsual;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<size_t>(size.ws_col, kLeast);
  }
  const char* const columns = std::getenv("COLUMNS");
  const std::string_view text = columns == nullptr ? "" : columns;
  size_t width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error != std::errc() || end != text.data() + text.size() || width > kMost) return kUsual;
  return std::max(width, kLeast);
}

OutputState WriteToStdout(std::string_view text) {
  const OutputState state = WriteAll(STDOUT_FILENO, text);
  if (state == OutputState::kFailed) {
    Message(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  return state;
}

}  // namespace rocescope

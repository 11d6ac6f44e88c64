// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/message.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "appliance/cli/command/output.h"
#include "appliance/common/report/visible_text.h"

#ifndef ROCESCOPE_PROGRAM  // the build of rocescope-agent sets it
#define ROCESCOPE_PROGRAM "rocescope"
#endif

namespace rocescope {

void Message(std::string_view text) {
  try {
    (void)WriteAll(STDERR_FILENO,
                   fmt::format(ROCESCOPE_PROGRAM ": {}\n", Visible(WithShortQuotes(text))));
  } catch (const std::bad_alloc&) {
    // The message may be about standard error itself.
  }
}

void MessageLines(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Message(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void HoldStandardStreams() {
  // open() returns the lowest free number. Standard input is opened write-only and the others
  // read-only, so that using them is still an error.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    (void)open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace rocescope

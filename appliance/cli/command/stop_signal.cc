// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/stop_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "dataplane/source/byte_stream.h"
#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

volatile std::sig_atomic_t signalled = 0;
volatile std::sig_atomic_t reload = 0;
int wake_up = -1;  // Write end of a pipe: a flag alone could be set just before a read blocks.

void TakeFirstSignal(int /*number*/) {
  const int error = errno;
  signalled = 1;
  for (const int number : kSignals) std::signal(number, SIG_DFL);
  [[maybe_unused]] const ssize_t written = write(wake_up, "", 1);
  errno = error;
}

}  // namespace

void EndInputOnSignal() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return;  // signals then end the process as by default
  wake_up = ends[1];
  EndInputsWhenReadable(ends[0]);
  for (const int number : kSignals) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = TakeFirstSignal;
    for (const int blocked : kSignals) sigaddset(&action.sa_mask, blocked);
    sigaction(number, &action, nullptr);
  }
}

bool InputEndedBySignal() { return signalled != 0; }

void TakeReloadSignal() {
  struct sigaction action{};
  action.sa_handler = [](int) { reload = 1; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGHUP, &action, nullptr);
}

void IgnoreReloadSignal() { std::signal(SIGHUP, SIG_IGN); }

bool ReloadAskedFor() {
  if (reload == 0) return false;
  reload = 0;
  return true;
}

bool LiveInputEndedBySignal(const CaptureTaps& captures) {
  return InputEndedBySignal() && captures.files.size() == 1 &&
         captures.files[0].path == kStandardInputPath;
}

}  // namespace rocescope

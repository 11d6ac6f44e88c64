// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/every_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <thread>

namespace rocescope {
namespace {

std::atomic<bool (*)()> current_action = nullptr;
std::atomic<size_t> finished = 0;  // threads
std::atomic<size_t> failed = 0;    // threads

void OnSignal(int) {
  const int saved = errno;
  if (bool (*const action)() = current_action; action != nullptr) {
    if (!action()) ++failed;
    ++finished;
  }
  errno = saved;
}

std::set<pid_t> Threads() {
  std::set<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    threads.insert(thread);
  }
  return threads;
}

// Returns false if the thread has ended. The kernel may have no space for a further signal now.
bool Signal(pid_t thread, int signal) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (syscall(SYS_tgkill, getpid(), thread, signal) == 0) return true;
    if (errno == ESRCH) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;  // the caller notices that the action did not run
}

// Returns true if the thread ran the action or ended.
bool RunOn(pid_t thread, int signal) {
  const size_t before = finished;
  if (!Signal(thread, signal)) return true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (finished == before) {
    if (!Signal(thread, 0)) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace

size_t RunOnEveryThread(bool (*action)()) {
  const int signal = SIGRTMAX;
  struct sigaction handler{};
  struct sigaction previous{};
  handler.sa_handler = OnSignal;
  handler.sa_flags = SA_RESTART;
  sigfillset(&handler.sa_mask);
  current_action = action;
  failed = 0;
  sigaction(signal, &handler, &previous);
  size_t missed = 0;
  std::set<pid_t> done = {gettid()};
  // A thread inherits from the thread that starts it. Repeat until there is no new thread, because
  // one may have been started before its parent ran the action.
  for (bool found = true; found;) {
    found = false;
    for (const pid_t thread : Threads()) {
      if (!done.insert(thread).second) continue;
      found = true;
      missed += RunOn(thread, signal) ? 0 : 1;
    }
  }
  if (!action()) ++failed;  // last, because it may forbid reading the list of threads
  // A thread that missed the signal keeps it pending: the handler must stay.
  if (missed == 0) {
    current_action = nullptr;
    sigaction(signal, &previous, nullptr);
  }
  return missed + failed;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/uncaught.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/output.h"

namespace rocescope {
namespace {

// Writes the texts as one line, and control characters in them as '?'. Allocates nothing.
void WriteLine(std::string_view first, std::string_view second) {
  std::array<char, 512> line;
  size_t length = 0;
  for (const std::string_view part : {std::string_view("rocescope: "), first, second}) {
    for (const char c : part) {
      if (length < line.size() - 1) line[length++] = c >= ' ' && c <= '~' ? c : '?';
    }
  }
  line[length++] = '\n';
  (void)WriteAll(STDERR_FILENO, {line.data(), length});
}

[[noreturn]] void End() {
  // A second thread that fails too must not interrupt the message of the first.
  static std::atomic_flag is_ending;
  while (is_ending.test_and_set()) pause();
  const std::exception_ptr exception = std::current_exception();
  if (!exception) std::abort();  // a defect that is no exception: a core dump shows more
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    ReportOutOfMemory("");
  } catch (const std::exception& error) {
    WriteLine("internal error: ", error.what());
  } catch (...) {
    WriteLine("internal error: ", "unknown exception");
  }
  _exit(kExitOutput);
}

}  // namespace

void EndOnUncaughtExceptions() { std::set_terminate(End); }

void ReportOutOfMemory(const char* advice) { WriteLine("out of memory", advice); }

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/uncaught.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "appliance/cli/command/exit_code.h"

namespace rocescope {
namespace {

using testing::ExitedWithCode;

template <typename Exception>
void ThrowInAThread(Exception exception) {
  EndOnUncaughtExceptions();
  std::thread([&] { throw exception; }).join();
}

TEST(UncaughtDeathTest, ALackOfMemoryEndsTheProcessWithAMessage) {
  EXPECT_EXIT(ThrowInAThread(std::bad_alloc()), ExitedWithCode(kExitOutput),
              "^rocescope: out of memory\n$");
}

TEST(UncaughtDeathTest, AnInternalErrorEndsTheProcessWithAMessageInOneLine) {
  EXPECT_EXIT(ThrowInAThread(std::runtime_error("broken\nhere")), ExitedWithCode(kExitOutput),
              "^rocescope: internal error: broken\\?here\n$");
}

}  // namespace
}  // namespace rocescope

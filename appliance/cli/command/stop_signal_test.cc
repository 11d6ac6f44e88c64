// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/stop_signal.h"

#include <gtest/gtest.h>

#include <csignal>

#include "appliance/cli/command/agent.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/run.h"

namespace rocescope {
namespace {

class ReloadSignalTest : public testing::Test {
 protected:
  ReloadSignalTest() { std::signal(SIGHUP, SIG_DFL); }
  ~ReloadSignalTest() override { std::signal(SIGHUP, before_); }

  static bool EndsTheProcess() {
    struct sigaction action{};
    EXPECT_EQ(sigaction(SIGHUP, nullptr, &action), 0);
    return action.sa_handler == SIG_DFL;
  }

 private:
  void (*const before_)(int) = std::signal(SIGHUP, SIG_IGN);
};

TEST_F(ReloadSignalTest, DoesNotEndAStartingAppliance) {
  EXPECT_EQ(RunDaemon({.config = "/nonexistent/appliance.yaml"}), kExitUnreadable);
  ASSERT_FALSE(EndsTheProcess()) << "not even before the configuration is read";
  raise(SIGHUP);
  EXPECT_TRUE(ReloadAskedFor());
}

TEST_F(ReloadSignalTest, DoesNotEndAnAgent) {
  EXPECT_EQ(RunAgent({.config = "/nonexistent/agent.yaml"}), kExitUnreadable);
  ASSERT_FALSE(EndsTheProcess());
  raise(SIGHUP);
}

}  // namespace
}  // namespace rocescope

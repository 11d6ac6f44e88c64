// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace rocescope {
namespace {

using testing::HasSubstr;

TEST(Privileges, RejectsAnUnknownUser) {
  const Status done = BecomeUser("nobody-of-this-name");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(done.error().message, HasSubstr("nobody-of-this-name"));
}

TEST(Privileges, RejectsRoot) {
  const Status done = BecomeUser("root");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
}

// Runs in a child process. Its exit code shows which step failed.
int InAChild() {
  // A thread that started before must lose its privileges too.
  std::atomic<bool> changed = false;
  std::atomic<bool> other_is_root = true;
  std::thread other([&] {
    while (!changed) std::this_thread::yield();
    other_is_root = geteuid() == 0 || std::ifstream("/proc/1/environ").get() != EOF;
  });
  const bool became = BecomeUser("nobody").has_value();
  changed = true;
  other.join();
  if (!became) return 1;
  if (other_is_root) return 2;
  if (IsPrivileged()) return 3;
  if (setuid(0) == 0) return 4;
  const passwd* const nobody = getpwnam("nobody");
  return nobody != nullptr && getuid() == nobody->pw_uid && getgid() == nobody->pw_gid ? 0 : 5;
}

TEST(Privileges, AllThreadsLoseThemPermanently) {
  if (geteuid() != 0) GTEST_SKIP() << "requires root";
  EXPECT_TRUE(IsPrivileged());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(InAChild());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Privileges, OnlyRootCanSwitch) {
  if (geteuid() == 0) GTEST_SKIP() << "requires an unprivileged user";
  const Status done = BecomeUser("daemon");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace rocescope

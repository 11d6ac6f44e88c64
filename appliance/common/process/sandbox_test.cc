// SPDX-License-Identifier: BSD-3-Clause
// Each test enters the sandbox in a child process, because it is permanent.
#include "appliance/common/process/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "appliance/common/process/privileges.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

bool HasLandlock() { return syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) >= 1; }

// The wait status of a child process that returns the result of `action`.
int StatusOf(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}
int ExitCodeOf(const std::function<int()>& action) {
  const int status = StatusOf(action);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The exit code of a child in the sandbox; 99 if the kernel does not support a part of it.
int InSandbox(const SandboxOptions& options, const std::function<int()>& action) {
  return ExitCodeOf([&] { return EnterSandbox(options).empty() ? action() : 99; });
}

int ErrorOf(bool succeeded) { return succeeded ? 0 : errno; }
int OpenError(const fs::path& path, int flags = O_RDONLY) {
  return ErrorOf(open(path.c_str(), flags, 0600) >= 0);
}

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasSandbox()) GTEST_SKIP() << "a build with sanitizers has no sandbox";
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "the kernel has no seccomp";
    std::string name = (fs::temp_directory_path() / "sandbox-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (const char* const directory : {"named", "foreign"}) {
      fs::create_directory(folder_ / directory);
      std::ofstream(folder_ / directory / "file") << "text";
    }
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // Everything of the system, and one directory.
  SandboxOptions Naming(FileAccess access) const {
    return {.program = SandboxedProgram::kAppliance,
            .files = {{{.path = folder_ / "named", .access = access}}}};
  }

  fs::path folder_;
};

TEST_F(Sandbox, AnUnneededSystemCallFailsAndIsCounted) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance},
                      [] {
                        if (DeniedSystemCalls() != 0) return 1;
                        if (ErrorOf(symlink("a", "b") == 0) != EPERM) return 2;
                        if (DeniedSystemCalls() != 1) return 3;
                        const std::vector<std::string> names = NamesOfDeniedSystemCalls();
                        return names.size() == 1 && names[0].starts_with("symlink") ? 0 : 4;
                      }),
            0);
}

TEST_F(Sandbox, ExecutingAProgramEndsTheProcess) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance},
                      [] { return execl("/bin/true", "true", nullptr); }),
            -SIGSYS);
}

TEST_F(Sandbox, TracingAProcessEndsTheProcess) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAgent},
                      [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1; }),
            -SIGSYS);
}

TEST_F(Sandbox, MountingEndsTheProcess) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kReader},
                      [] { return mount("none", "/mnt", "tmpfs", 0, nullptr); }),
            -SIGSYS);
}

TEST_F(Sandbox, NoProcessCanBeStarted) {
  EXPECT_EQ(
      InSandbox({.program = SandboxedProgram::kAppliance}, [] { return ErrorOf(fork() >= 0); }),
      EPERM);
}

TEST_F(Sandbox, ThreadsCanBeStarted) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kReader},
                      [] {
                        int result = 1;
                        std::thread([&] { result = 0; }).join();
                        return result;
                      }),
            0);
}

TEST_F(Sandbox, MemoryIsNeverWritableAndExecutable) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance},
                      [] {
                        return ErrorOf(mmap(nullptr, 4096, PROT_WRITE | PROT_EXEC,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
                      }),
            EPERM);
}

TEST_F(Sandbox, SignalsReachThisProcessOnly) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance},
                      [] { return ErrorOf(kill(getppid(), 0) == 0); }),
            EPERM);
}

TEST_F(Sandbox, SocketsOfUnneededFamiliesAreRefused) {
  const auto open_socket = [](int family) {
    return [family] { return ErrorOf(socket(family, SOCK_DGRAM, 0) >= 0); };
  };
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance}, open_socket(AF_INET)), 0);
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance}, open_socket(AF_PACKET)), EPERM);
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kReader}, open_socket(AF_INET)), EPERM);
}

TEST_F(Sandbox, OnlyTheApplianceMayWriteFiles) {
  const auto write = [&] { return OpenError(folder_ / "named" / "file", O_WRONLY); };
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance}, write), 0);
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAgent}, write), EPERM);
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kReader}, write), EPERM);
}

TEST_F(Sandbox, PrivilegesCannotBeGained) {
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance},
                      [] { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1; }),
            0);
}

// The value of a line of /proc/thread-self/status.
std::string StatusLine(const std::string& name) {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

TEST_F(Sandbox, AThreadThatStartedBeforeIsRestrictedToo) {
  const bool files = HasLandlock();
  SandboxOptions options = {.program = SandboxedProgram::kAppliance};
  if (files) options = Naming(FileAccess::kRead);
  EXPECT_EQ(ExitCodeOf([&] {
              std::atomic<bool> is_sandboxed = false;
              std::atomic<int> result = -1;
              std::thread other([&] {
                while (!is_sandboxed) std::this_thread::yield();
                constexpr uint64_t kKept = 0x800406;  // privileges.cc
                result = symlink("a", "b") == 0 || errno != EPERM                         ? 1
                         : StatusLine("Seccomp") != "2"                                   ? 2
                         : StatusLine("NoNewPrivs") != "1"                                ? 3
                         : (std::stoull(StatusLine("CapEff"), nullptr, 16) & ~kKept) != 0 ? 4
                         : files && OpenError(folder_ / "foreign" / "file") != EACCES     ? 5
                                                                                          : 0;
              });
              const bool entered = EnterSandbox(options).empty();
              is_sandboxed = true;
              other.join();
              return entered ? result.load() : 99;
            }),
            0);
}

TEST_F(Sandbox, RootCanClearTheBoundingSet) {
  if (geteuid() != 0) GTEST_SKIP() << "requires root";
  EXPECT_EQ(ExitCodeOf([] {
              ClearCapabilityBounds();
              return StatusLine("CapBnd") == "0000000000000000" ? 0 : 1;
            }),
            0);
}

class Files : public Sandbox {
 protected:
  void SetUp() override {
    if (!HasLandlock()) GTEST_SKIP() << "the kernel has no Landlock";
    Sandbox::SetUp();
  }
};

TEST_F(Files, OthersThanTheNamedOnesCannotBeOpened) {
  EXPECT_EQ(
      InSandbox(Naming(FileAccess::kRead), [&] { return OpenError(folder_ / "named" / "file"); }),
      0);
  EXPECT_EQ(
      InSandbox(Naming(FileAccess::kRead), [&] { return OpenError(folder_ / "foreign" / "file"); }),
      EACCES);
}

TEST_F(Files, ALinkInANamedDirectoryLeadsNowhereElse) {
  fs::create_symlink(folder_ / "foreign" / "file", folder_ / "named" / "link");
  EXPECT_EQ(
      InSandbox(Naming(FileAccess::kRead), [&] { return OpenError(folder_ / "named" / "link"); }),
      EACCES);
}

TEST_F(Files, ReadingDoesNotPermitWriting) {
  EXPECT_EQ(InSandbox(Naming(FileAccess::kRead),
                      [&] { return OpenError(folder_ / "named" / "file", O_WRONLY); }),
            EACCES);
  EXPECT_EQ(InSandbox(Naming(FileAccess::kRead),
                      [&] { return OpenError(folder_ / "named" / "new", O_WRONLY | O_CREAT); }),
            EACCES);
}

TEST_F(Files, WritingPermitsCreatingRenamingAndRemoving) {
  EXPECT_EQ(InSandbox(Naming(FileAccess::kWrite),
                      [&] {
                        const fs::path a = folder_ / "named" / "a";
                        const fs::path b = folder_ / "named" / "b";
                        if (const int error = OpenError(a, O_RDWR | O_CREAT | O_TRUNC))
                          return error;
                        return ErrorOf(rename(a.c_str(), b.c_str()) == 0 && unlink(b.c_str()) == 0);
                      }),
            0);
}

TEST_F(Files, AFileThatIsReplacedStaysReadable) {
  const fs::path file = folder_ / "named" / "file";
  EXPECT_EQ(InSandbox({.program = SandboxedProgram::kAppliance,
                       .files = ReplaceableFile(file, FileAccess::kWrite)},
                      [&] {
                        const fs::path next = folder_ / "named" / "next";
                        std::ofstream(next) << "new text";
                        if (rename(next.c_str(), file.c_str()) != 0) return errno;
                        return OpenError(file);
                      }),
            0);
}

TEST_F(Files, AFileInTheRootDirectoryPermitsNoOtherFile) {
  EXPECT_EQ(ReplaceableFile("/appliance.yaml")[0].path, "/appliance.yaml");
}

TEST_F(Files, ALinkPermitsTheDirectoryItLeadsTo) {
  fs::create_symlink(folder_ / "foreign" / "file", folder_ / "named" / "link");
  const std::vector<FileRule> rules = ReplaceableFile(folder_ / "named" / "link");
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].path, folder_ / "named");
  EXPECT_EQ(rules[1].path, fs::canonical(folder_ / "foreign"));
}

}  // namespace
}  // namespace rocescope

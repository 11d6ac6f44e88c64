// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/file_access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "appliance/common/process/every_thread.h"
#include "base/descriptor.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

// Debian 12's kernel headers do not have it: Linux 6.2, version 3 of Landlock.
constexpr uint64_t kTruncate = uint64_t{1} << 14;

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kWriteFile = kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kReadDirectory = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteDirectory = kWriteFile | kReadDirectory | LANDLOCK_ACCESS_FS_MAKE_REG |
                                     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REFER;

// All rights that this version knows, so that a right without a rule is refused.
uint64_t HandledBy(long version) {
  uint64_t handled = LANDLOCK_ACCESS_FS_REFER - 1;
  if (version >= 2) handled |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) handled |= kTruncate;
  return handled;
}

Status Refused(const std::string& what) {
  const int error = errno;
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("cannot {}: {}", what, std::generic_category().message(error)));
}

std::atomic<int> ruleset_to_apply = -1;
bool RestrictThisThread() {
  return syscall(SYS_landlock_restrict_self, ruleset_to_apply.load(), 0) == 0;
}

Status AddRule(int ruleset, uint64_t handled, const FileRule& rule) {
  const Descriptor file(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) return {};
  const bool writes = rule.access == FileAccess::kWrite;
  const uint64_t wanted = S_ISDIR(status.st_mode) ? (writes ? kWriteDirectory : kReadDirectory)
                                                  : (writes ? kWriteFile : kReadFile);
  const landlock_path_beneath_attr permits = {.allowed_access = wanted & handled,
                                              .parent_fd = file.number()};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &permits, 0) != 0) {
    return Refused("permit access to " + rule.path);
  }
  return {};
}

}  // namespace

Status RestrictFiles(const std::vector<FileRule>& rules) {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) {
    return MakeError(
        ErrorCode::kUnimplemented,
        "the kernel does not support Landlock (Linux 5.13, in the boot parameter lsm)");
  }
  const landlock_ruleset_attr restricts = {.handled_access_fs = HandledBy(version)};
  const Descriptor ruleset(syscall(SYS_landlock_create_ruleset, &restricts, sizeof restricts, 0));
  if (ruleset.number() < 0) return Refused("create Landlock rules");
  for (const FileRule& rule : rules) {
    const Status added = AddRule(ruleset.number(), restricts.handled_access_fs, rule);
    if (!added) return added;
  }
  ruleset_to_apply = ruleset.number();
  if (const size_t missed = RunOnEveryThread(RestrictThisThread); missed > 0) {
    return MakeError(ErrorCode::kInternal,
                     fmt::format("Landlock does not restrict {} of the threads", missed));
  }
  return {};
}

std::vector<FileRule> ReplaceableFile(const std::string& path, FileAccess access) {
  std::vector<FileRule> rules;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  for (const fs::path& file : {absolute, fs::weakly_canonical(absolute, error)}) {
    if (file.empty()) continue;
    // The root directory would permit every file.
    const fs::path directory = file.parent_path();
    const bool whole = fs::is_directory(file, error) || directory == directory.root_path();
    rules.push_back({.path = whole ? file : directory, .access = access});
  }
  return rules;
}

}  // namespace rocescope

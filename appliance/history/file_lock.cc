// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/history/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace rocescope {

Result<FileLock> FileLock::Take(const std::string& path, std::string_view key) {
  const std::string lock = path + ".lock";
  const int descriptor = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("{}: {}; is its folder there, and may rocescope write in it? (key "
                                 "`{}`)",
                                 lock, std::generic_category().message(errno), key));
  }
  FileLock taken(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return taken;
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: another rocescope writes to it: stop that one, or name another "
                               "file (key `{}`)",
                               path, key));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace rocescope

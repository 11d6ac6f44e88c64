// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

namespace rocescope {

Result<std::string> OwnFile(const std::string& path, std::string_view key) {
  namespace fs = std::filesystem;
  const auto refuse = [&](std::string_view why) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: {} (key `{}`)", path, why, key));
  };
  std::error_code error;
  const fs::file_type kind = fs::symlink_status(path, error).type();
  if (kind == fs::file_type::regular || kind == fs::file_type::not_found) return path;
  if (error) return refuse(error.message());
  const fs::path target = fs::canonical(path, error);
  if (error) return refuse(fmt::format("cannot resolve the symbolic link: {}", error.message()));
  const fs::file_status found = fs::status(target, error);
  if (error) return refuse(error.message());
  if (fs::is_regular_file(found)) return target.string();
  return refuse(fmt::format("is {}; use the path of a regular file",
                            fs::is_directory(found) ? "a folder" : "not a regular file"));
}

Result<FileLock> FileLock::Take(const std::string& path, std::string_view key) {
  const std::string lock = path + ".lock";
  // O_NOFOLLOW and O_NONBLOCK protect against a symbolic link or a pipe at this path.
  const int descriptor =
      open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
           kPrivateMode);
  if (descriptor < 0) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("{}: {}; check that the folder exists and is writable (key `{}`)",
                                 lock, std::generic_category().message(errno), key));
  }
  FileLock taken(descriptor);
  struct stat found{};
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: not a regular file; the path was not changed (key `{}`)", lock, key));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    // An earlier version created the file with other permissions. A failure does not matter: the
    // file is empty.
    if ((found.st_mode & 0777) != kPrivateMode) std::ignore = fchmod(descriptor, kPrivateMode);
    return taken;
  }
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: another rocescope process uses the file: stop that process, or "
                               "use another file (key `{}`)",
                               path, key));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace rocescope

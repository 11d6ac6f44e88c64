// SPDX-License-Identifier: BSD-3-Clause
// Files that the configuration names: checks of their type, their permissions, and a lock that
// lasts as long as the process.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace rocescope {

// Returns `path` with symbolic links resolved. The target must be a regular file or not exist. A
// folder, device or pipe is an error, which names the configuration key `key`.
Result<std::string> OwnFile(const std::string& path, std::string_view key);

// Files are readable and writable for their owner only: they name users, jobs and hosts.
inline constexpr unsigned kPrivateMode = 0600;

class FileLock {
 public:
  // Locks FILE.lock, which is not deleted afterwards. `path` is the result of OwnFile, so that all
  // symbolic links to a file share one lock, next to the file. `key` is the configuration key of
  // the file.
  static Result<FileLock> Take(const std::string& path, std::string_view key = "history.file");
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Files of our own that the configuration names: what they may be, and that each is one process's,
// which lasts as long as the process, however it ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace rocescope {

// `path` with symbolic links followed, where a regular file is or nothing yet. Anything else there
// (a folder, a device, a pipe) is not ours to lock, write to or replace: the error names `key`, the
// configuration's for the file.
Result<std::string> OwnFile(const std::string& path, std::string_view key);

class FileLock {
 public:
  // FILE.lock, which stays behind; FILE is OwnFile's. `key` is the configuration's that names the
  // file.
  static Result<FileLock> Take(const std::string& path, std::string_view key = "history.file");
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// That a file is one process's: lasts as long as the process, however it ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace rocescope {

class FileLock {
 public:
  // FILE.lock, which stays behind. `key` is the configuration's that names the file.
  static Result<FileLock> Take(const std::string& path, std::string_view key = "history.file");
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// That a file is one process's: lasts as long as the process, however it ends.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace rocescope {

class FileLock {
 public:
  // FILE.lock, which stays behind.
  static Result<FileLock> Take(const std::string& path);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace rocescope

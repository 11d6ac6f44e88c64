// SPDX-License-Identifier: BSD-3-Clause
// A file that is written sequentially. Errors are kept until Close, so that callers need not check
// each write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

class CheckedFile {
 public:
  // Creates or truncates the file; "-" is standard output. The error names the path.
  static Result<CheckedFile> Open(const std::string& path);
  ~CheckedFile();  // discards a pending error; call Close first
  CheckedFile(CheckedFile&& other) noexcept;
  CheckedFile& operator=(CheckedFile&&) = delete;

  // Writes directly to the file. Does nothing after an error.
  void Write(std::span<const uint8_t> bytes);
  void Write(std::string_view text);
  // Returns the first error, for example a full disk.
  Status Close();

  const std::string& path() const { return path_; }
  uint64_t written() const { return written_; }
  bool failed() const { return !status_; }
  // The reader of a pipe closed it; a special case of failed().
  bool reader_gone() const { return reader_gone_; }

 private:
  CheckedFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_;
  uint64_t written_ = 0;
  bool reader_gone_ = false;
  Status status_;
};

}  // namespace rocescope

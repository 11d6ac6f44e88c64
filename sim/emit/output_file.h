// SPDX-License-Identifier: BSD-3-Clause
// A file written sequentially. Errors are kept until Close, so that callers need not check each
// write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope::sim {

class OutputFile {
 public:
  // Creates or truncates the file. The error names the path.
  static Result<OutputFile> Open(const std::string& path);
  static OutputFile StandardOutput();
  ~OutputFile();  // discards a pending error; call Close first
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Writes directly to the file.
  void Write(std::span<const uint8_t> bytes);
  // Returns the first write error, for example a full disk. Data after the error is not in the
  // file.
  Status Close();

 private:
  OutputFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_;
  uint64_t written_ = 0;
  Status status_;
};

// Writes text through a buffer.
class TextFile {
 public:
  static Result<TextFile> Open(const std::string& path);

  // The buffer to append to.
  std::string& text() { return text_; }
  // Writes the buffer to the file if it is large. Call it between appends.
  void Relieve();
  Status Close();

 private:
  explicit TextFile(OutputFile file) : file_(std::move(file)) {}
  void Flush();

  OutputFile file_;
  std::string text_;
};

// Writes a whole file at once.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace rocescope::sim

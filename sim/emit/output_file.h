// SPDX-License-Identifier: BSD-3-Clause
// A file that is written from its front to its end. What goes wrong is kept until Close, so that
// who writes a line or a frame need not ask each time.
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
  // Makes the file, or empties it. The error names the path.
  static Result<OutputFile> Open(const std::string& path);
  static OutputFile StandardOutput();
  ~OutputFile();  // an error is lost: call Close
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Straight to the file.
  void Write(std::span<const uint8_t> bytes);
  // The first error of all writing, say of a full disk: what came behind it is not in the file.
  Status Close();

 private:
  OutputFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_;
  uint64_t written_ = 0;
  Status status_;
};

// Lines, through a buffer.
class TextFile {
 public:
  static Result<TextFile> Open(const std::string& path);

  // To append to.
  std::string& text() { return text_; }
  // To be called between appending: writes when there is much.
  void Relieve();
  Status Close();

 private:
  explicit TextFile(OutputFile file) : file_(std::move(file)) {}
  void Flush();

  OutputFile file_;
  std::string text_;
};

// A whole file at once.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace rocescope::sim

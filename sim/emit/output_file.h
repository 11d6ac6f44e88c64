// SPDX-License-Identifier: BSD-3-Clause
// Text files that the simulator writes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "dataplane/run/checked_file.h"

namespace rocescope::sim {

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
  explicit TextFile(CheckedFile file) : file_(std::move(file)) {}
  void Flush();

  CheckedFile file_;
  std::string text_;
};

// Writes a whole file at once.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace rocescope::sim

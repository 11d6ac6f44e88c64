// SPDX-License-Identifier: BSD-3-Clause
// Output files that appear at their path when they are complete.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace rocescope {

enum class Existing {
  kRefused,   // a file at the path is an error of the code kInvalidArgument
  kReplaced,  // a file at the path is replaced in one step
};

class NewFile {
 public:
  // Creates an empty file with the mode 0600 next to `path`.
  static Result<NewFile> Create(const std::string& path, Existing existing = Existing::kRefused);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  // Removes the file, unless it was published.
  ~NewFile();

  // Where the file is until it is published. Other writers may use this path.
  const std::string& partial() const { return partial_; }
  Status Write(std::string_view bytes);
  // Writes the file to the disk and gives it its name.
  Status Publish();

 private:
  NewFile(std::string path, Existing existing, std::string partial, Descriptor file)
      : path_(std::move(path)),
        existing_(existing),
        partial_(std::move(partial)),
        file_(std::move(file)) {}

  std::string path_;
  Existing existing_;
  std::string partial_;  // empty: published or moved from
  Descriptor file_;
};

// Writes what was changed in the directory of `path` (names of files) to the disk.
Status SyncDirectoryOf(const std::string& path);

}  // namespace rocescope

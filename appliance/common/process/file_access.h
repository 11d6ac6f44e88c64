// SPDX-License-Identifier: BSD-3-Clause
// Restricts this process to some files and directories (Landlock, landlock(7)).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace rocescope {

enum class FileAccess : uint8_t {
  kRead,   // open files for reading, list directories
  kWrite,  // also open for writing, create, rename and remove files
};

// Applies to the file, or to the directory with everything below it. Paths that do not exist, or
// cannot be opened, are ignored.
struct FileRule {
  std::string path;
  FileAccess access = FileAccess::kRead;

  friend bool operator==(const FileRule&, const FileRule&) = default;
};

// Forbids all threads to open files that no rule permits, and to execute programs. Files that are
// open stay usable. Requires no_new_privs. An error (kUnimplemented: the kernel has no Landlock)
// leaves the process as it was, except for kInternal: some threads are restricted and others not.
Status RestrictFiles(const std::vector<FileRule>& rules);

// Rules that permit reading a file that may be replaced by another one of the same name: its
// directory, and the directory of the file that a symbolic link leads to. A directory permits
// itself.
std::vector<FileRule> ReplaceableFile(const std::string& path,
                                      FileAccess access = FileAccess::kRead);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Archives in the ustar format (POSIX.1-1988), which every tar reads.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

struct TarFile {
  std::string name;  // relative path, at most 100 bytes
  std::string content;
};

// Returns an archive of regular files with the mode 0600, the owner 0 and this time. A name that is
// empty or too long, or content of 8 GiB or more, is an error.
Result<std::string> MakeTar(std::span<const TarFile> files, Timestamp time);

}  // namespace rocescope

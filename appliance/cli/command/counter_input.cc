// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/counter_input.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace rocescope {

Result<std::unique_ptr<CounterFile>> OpenCountersOfRun(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: not a regular file (it is a device, pipe or socket)", path));
  }
  return CounterFile::Open(path);
}

}  // namespace rocescope

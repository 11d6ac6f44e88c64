// SPDX-License-Identifier: BSD-3-Clause
#include "sim/recording/input_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rocescope::sim {

Status CheckInputFile(const std::string& path, std::string_view if_missing) {
  const auto fail = [&](std::string_view why) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: {}", path, why));
  };
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return fail(if_missing);
  }
  // Also reports why stat failed.
  if (::access(path.c_str(), R_OK) != 0) {
    return fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) return fail("not a regular file");
  return {};
}

}  // namespace rocescope::sim

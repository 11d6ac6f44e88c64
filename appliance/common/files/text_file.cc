// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/descriptor.h"

namespace rocescope {
namespace {

tl::unexpected<Error> TooLarge(const std::string& path, uintmax_t most) {
  return MakeError(ErrorCode::kResourceExhausted,
                   fmt::format("{}: larger than {} MiB", path, most >> 20));
}

tl::unexpected<Error> CannotBeRead(const std::string& path, int error) {
  return MakeError(ErrorCode::kUnavailable, fmt::format("{}: cannot be read: {}", path,
                                                        std::generic_category().message(error)));
}

Result<std::string> ReadToEnd(int descriptor, const std::string& name, std::string text,
                              uintmax_t most) {
  char block[size_t{64} << 10];
  while (true) {
    const ssize_t got = read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotBeRead(name, errno);
    if (got == 0) return text;
    text.append(block, static_cast<size_t>(got));
    if (text.size() > most) return TooLarge(name, most);
  }
}

}  // namespace

Result<std::string> ReadTextFile(const std::string& path, uintmax_t most, Pipes pipes) {
  // Opening a pipe blocks until it has a writer.
  const int wait = pipes == Pipes::kRead ? 0 : O_NONBLOCK;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | wait));
  struct stat found{};
  if (file.number() < 0 || fstat(file.number(), &found) != 0) {
    return MakeError(
        errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
        fmt::format("{}: cannot be opened: {}", path, std::generic_category().message(errno)));
  }
  if (S_ISDIR(found.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: is a directory", path));
  }
  std::string text;
  if (S_ISREG(found.st_mode)) {
    const auto size = static_cast<uintmax_t>(found.st_size);
    if (size > most) return TooLarge(path, most);
    text.reserve(static_cast<size_t>(size));
  } else if (pipes == Pipes::kRefused) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: not a regular file (it is a device, pipe or socket)", path));
  }
  return ReadToEnd(file.number(), path, std::move(text), most);
}

Result<std::string> ReadTextFileOrStdin(const std::string& path, uintmax_t most) {
  if (path != "-") return ReadTextFile(path, most, Pipes::kRead);
  return ReadToEnd(STDIN_FILENO, "standard input", {}, most);
}

}  // namespace rocescope

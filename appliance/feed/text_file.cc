// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/feed/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace rocescope {
namespace {

tl::unexpected<Error> TooLarge(const std::string& path, uintmax_t most) {
  return MakeError(ErrorCode::kResourceExhausted,
                   fmt::format("{}: more than {} MiB", path, most >> 20));
}

Result<std::string> ReadStream(std::istream& stream, const std::string& name, std::string text,
                               uintmax_t most) {
  char block[size_t{64} << 10];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<size_t>(stream.gcount()));
    if (text.size() > most) return TooLarge(name, most);
  }
  if (stream.bad()) {
    return MakeError(ErrorCode::kUnavailable, fmt::format("{}: reading it failed", name));
  }
  return text;
}

}  // namespace

Result<std::string> ReadTextFile(const std::string& path, uintmax_t most) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > most) return TooLarge(path, most);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return MakeError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  std::string text;
  if (!error) text.reserve(static_cast<size_t>(size));
  return ReadStream(file, path, std::move(text), most);
}

Result<std::string> ReadTextFileOrStdin(const std::string& path, uintmax_t most) {
  if (path != "-") return ReadTextFile(path, most);
  return ReadStream(std::cin, "standard input", {}, most);
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace rocescope {

namespace fs = std::filesystem;

std::optional<std::string> ReadRawFile(const std::string& path, size_t most) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  constexpr size_t kFirst = 4096;
  std::string text;
  ssize_t got = 0;
  do {
    const size_t size = text.size();
    text.resize(std::min(most, std::max(kFirst, 2 * size)));
    if (text.size() == size) {
      got = 0;
      break;
    }
    got = read(descriptor, text.data() + size, text.size() - size);
    text.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  } while (got > 0);
  close(descriptor);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<std::string> ReadSmallFile(const std::string& path, size_t most) {
  auto text = ReadRawFile(path, most);
  if (text) text->resize(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> ReadNumberFile(const std::string& path) {
  const auto text = ReadSmallFile(path, 64);
  return text ? ParseDecimal(*text) : std::nullopt;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::string LinkName(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/tap.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <unordered_map>

#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

// Extensions of capture tools. Anything else after a dot belongs to the name ("10.0.0.1.pcap").
constexpr std::array<std::string_view, 8> kExtensions = {".pcap", ".pcapng", ".cap", ".dmp",
                                                         ".dump", ".gz",     ".zst", ".zstd"};

bool DropExtension(std::string_view& name) {
  for (const std::string_view extension : kExtensions) {
    if (name.size() > extension.size() && name.ends_with(extension)) {
      name.remove_suffix(extension.size());
      return true;
    }
  }
  return false;
}

}  // namespace

Result<TapSpec> ParseTapSpec(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not of the form NAME=FILE, for example leaf1=leaf1.pcap", text));
  }
  return TapSpec{.name = std::string(text.substr(0, equals)),
                 .path = std::string(text.substr(equals + 1))};
}

std::string TapNameOf(std::string_view path) {
  if (path == kStandardInputPath) return std::string(kStandardInputTapName);
  std::string_view name = path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
  // Ends with a slash: opening it will fail with an error.
  if (name.empty()) return std::string(path);
  while (DropExtension(name)) {
  }
  return std::string(name);
}

Result<CaptureTaps> MakeCaptureTaps(std::span<const std::string> paths,
                                    std::span<const TapSpec> named) {
  if (paths.empty() && named.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "no capture given");
  }
  if (paths.size() + named.size() > std::numeric_limits<uint16_t>::max()) {
    return MakeError(
        ErrorCode::kResourceExhausted,
        fmt::format("{} captures given; the maximum is {}", paths.size() + named.size(),
                    std::numeric_limits<uint16_t>::max()));
  }
  std::set<std::string_view> given;
  std::set<std::pair<dev_t, ino_t>> files;  // a link is another path to the same frames
  const auto is_new = [&](const std::string& path) {
    struct stat status{};
    const bool is_file =
        path != kStandardInputPath && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && !files.emplace(status.st_dev, status.st_ino).second) return false;
    return given.insert(path).second;
  };
  const auto twice = [](const std::string& path) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is given twice; its frames would be counted twice",
                                 CaptureDisplayName(path)));
  };

  CaptureTaps table;
  std::unordered_map<std::string, uint16_t> taps;
  const auto tap_of = [&](const std::string& name) {
    const auto [at, inserted] = taps.try_emplace(name, static_cast<uint16_t>(table.names.size()));
    if (inserted) table.names.push_back(name);
    return at->second;
  };
  std::set<std::string_view> names_by_hand;
  for (const TapSpec& spec : named) names_by_hand.insert(spec.name);
  for (const std::string& path : paths) {
    if (!is_new(path)) return twice(path);
    const std::string base = TapNameOf(path);
    std::string name = base;
    for (int n = 2; taps.contains(name) || names_by_hand.contains(name); ++n) {
      name = fmt::format("{}-{}", base, n);
    }
    table.files.push_back({.path = path, .tap = tap_of(name)});
  }
  for (const TapSpec& spec : named) {
    if (!is_new(spec.path)) return twice(spec.path);
    table.files.push_back({.path = spec.path, .tap = tap_of(spec.name)});
  }
  return table;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/command/command.h"

#include <algorithm>
#include <fstream>

#include "base/nearest.h"
#include "base/text/yaml_fields.h"

namespace rocescope::sim {

CLI::Validator WholeNumber(uint64_t most) {
  return {[most](const std::string& text) {
            return topology::ParseWholeNumber(text, 0, most)
                       ? std::string()
                       : fmt::format("expected a whole number from 0 to {}, found {}", most, text);
          },
          ""};
}

int Fail(const Error& error, int code) {
  Print(stderr, "rocescope-sim: {}\n", error.message);
  return code;
}

int ExitCodeOf(const Error& error) {
  const bool unwritten = error.code == ErrorCode::kUnavailable ||
                         error.code == ErrorCode::kResourceExhausted ||
                         error.code == ErrorCode::kPermissionDenied;
  return unwritten ? kExitOutput : kExitInput;
}

Result<std::string> ReadFile(const std::string& path, std::string_view hint) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be opened{}", path, hint));
  }
  constexpr size_t kLongest = size_t{64} << 20;
  std::string text;
  std::string part(1u << 16, '\0');
  do {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<size_t>(file.gcount()));
  } while (file && text.size() <= kLongest);
  if (file.bad()) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be read", path));
  }
  if (text.size() > kLongest) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the file is larger than {} MiB", path, kLongest >> 20));
  }
  return text;
}

Result<std::vector<std::filesystem::path>> FilesOf(const std::string& directory,
                                                   std::string_view what) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error || files.empty()) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}: contains no {}; set the directory with --{}", directory, what, what));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<Profile> FindProfile(const std::string& name, const std::string& directory) {
  std::string path = name;
  if (!name.ends_with(".yaml") && name.find('/') == std::string::npos) {
    const auto files = FilesOf(directory, "profiles");
    if (!files) return tl::unexpected(files.error());
    std::vector<std::string> names;
    for (const std::filesystem::path& file : *files) names.push_back(file.stem().string());
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return MakeError(
          ErrorCode::kNotFound,
          fmt::format("there is no profile \"{}\"{}; `rocescope-sim list` shows the included ones, "
                      "and the name of a file must end in .yaml",
                      name, DidYouMean(name, known)));
    }
    path = fmt::format("{}/{}.yaml", directory, name);
  }
  const auto text = ReadFile(path, "; `rocescope-sim list` shows the included profiles");
  if (!text) return tl::unexpected(text.error());
  return LoadProfile(*text, path);
}

std::string TimeText(SimTime time) {
  const auto seconds = static_cast<double>(time) / kSecond;
  constexpr double kHour = 3600;
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return seconds < kHour ? fmt::format("{:.2f} s", seconds)
                         : fmt::format("{:.2f} h", seconds / kHour);
}

}  // namespace rocescope::sim

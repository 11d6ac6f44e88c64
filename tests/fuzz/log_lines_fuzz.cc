// SPDX-License-Identifier: BSD-3-Clause
// A log that grows in pieces gives the same lines as the complete log. The first byte is the size
// of the pieces.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "appliance/agent/log_tail.h"
#include "dataplane/source/wall_clock.h"
#include "tests/fuzz/require.h"

namespace {

// Removed at exit.
struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "log_lines_XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

std::string Read(std::string_view text, size_t piece) {
  static const Folder kFolder;
  const std::string path = kFolder.path + "/a.log";
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary);
  rocescope::LogTail tail({.patterns = {path}, .longest_line = 64});
  std::string lines;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    file << part << std::flush;
    tail.Look(rocescope::WallClock(), [&](const auto& one) { lines += one.text; });
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Read(text, std::max<size_t>(text.size(), 1));
  rocescope::Require(Read(text, data[0] + size_t{1}) == whole,
                     "reading in pieces gives the same lines");
  rocescope::Require(whole.empty() || whole.back() == '\n', "lines are complete");
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Assigns captures to taps according to the command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

inline constexpr std::string_view kStandardInputTapName = "stdin";

struct TapSpec {
  std::string name;
  std::string path;  // "-" is standard input
};

// Parses "NAME=FILE", the argument of --tap. The first '=' separates the two.
Result<TapSpec> ParseTapSpec(std::string_view text);

// The file's name without folder and extensions ("/x/leaf1.pcap.zst" gives "leaf1"); "stdin" for
// "-".
std::string TapNameOf(std::string_view path);

// A capture and the tap that its frames belong to.
struct TapFile {
  std::string path;
  uint16_t tap = 0;  // index into CaptureTaps::names
};

struct CaptureTaps {
  std::vector<std::string> names;
  std::vector<TapFile> files;  // in the given order, plain paths first
};

// A plain path gets the tap name of its file; "-2", "-3" and so on are appended if the name is
// taken. Files with the same explicit name share a tap, for example the parts of a rotated capture.
// Returns an error if there is no file, if there are more than 65,535, or if the same file is given
// twice, also through different paths.
Result<CaptureTaps> MakeCaptureTaps(std::span<const std::string> paths,
                                    std::span<const TapSpec> named);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Which capture was taken at which tap, from the words of a command line.
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

// "NAME=FILE", as --tap takes it; the first '=' divides.
Result<TapSpec> ParseTapSpec(std::string_view text);

// The file's name without folder and extensions ("/x/leaf1.pcap.zst" is "leaf1"); "stdin" for "-".
std::string TapNameOf(std::string_view path);

// One capture and the tap that its frames belong to.
struct TapFile {
  std::string path;
  uint16_t tap = 0;  // index into CaptureTaps::names
};

struct CaptureTaps {
  std::vector<std::string> names;
  std::vector<TapFile> files;  // in the order given, plain paths first
};

// Plain paths are named after the file, "-2", "-3" and so on behind a name that is taken. Files
// that are given the same name by hand share a tap: parts of a capture that was rotated. An error
// if there is none, more than 65,535, or the same file twice, be it by
// another path.
Result<CaptureTaps> MakeCaptureTaps(std::span<const std::string> paths,
                                    std::span<const TapSpec> named);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Third-party captures outside this repository: $ROCESCOPE_FIXTURES, else ../shared/fixtures next
// to the repository. Tests skip if they are absent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/pcap_writer.h"

namespace rocescope::test {

// The fixtures directory, which may not exist.
std::filesystem::path FixtureFolder();

// The file or directory `name` in it; nullopt if absent.
std::optional<std::filesystem::path> Fixture(std::string_view name);

// A file of this repository, by its path from the root.
std::filesystem::path SourceFile(std::string_view path);

// Reads a text file; throws std::runtime_error if it cannot be read.
std::string ReadText(const std::filesystem::path& path);

// Reads all frames of a pcap file (not pcapng) in either byte order; throws std::runtime_error if
// it is invalid.
std::vector<CapturedFrame> ReadPcap(const std::filesystem::path& path);

}  // namespace rocescope::test

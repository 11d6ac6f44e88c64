// SPDX-License-Identifier: BSD-3-Clause
// Captures that others made and that do not live in this repository: $ROCESCOPE_FIXTURES, else
// ../shared/fixtures beside the repository. A test that wants one skips where it is absent.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/pcap_writer.h"

namespace rocescope::test {

// The folder that holds the fixtures, whether it exists or not.
std::filesystem::path FixtureFolder();

// The file or folder `name` in it; nullopt where it is absent.
std::optional<std::filesystem::path> Fixture(std::string_view name);

// A file of this repository, by its path from the root.
std::filesystem::path SourceFile(std::string_view path);

// A file's text; throws std::runtime_error if it cannot be read.
std::string ReadText(const std::filesystem::path& path);

// All frames of a pcap file (not pcapng), of either byte order; throws
// std::runtime_error if it is none.
std::vector<CapturedFrame> ReadPcap(const std::filesystem::path& path);

}  // namespace rocescope::test

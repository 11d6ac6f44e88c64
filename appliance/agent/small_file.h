// SPDX-License-Identifier: BSD-3-Clause
// Reads files of /sys and /proc, which are short, have no reliable size and may be absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

// Returns the first `most` bytes without trailing white space. None if the file cannot be read.
std::optional<std::string> ReadSmallFile(const std::string& path, size_t most = 4096);

// Returns the first `most` bytes unchanged, including NULs.
std::optional<std::string> ReadRawFile(const std::string& path, size_t most);

// A decimal number from 0 to 2^64-1. None for anything else.
std::optional<uint64_t> ReadNumberFile(const std::string& path);
std::optional<uint64_t> ParseDecimal(std::string_view text);

// The sorted names in a directory except those that start with a dot. Empty if it cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

// The last component of a symbolic link's target. Empty if the path is not a symbolic link.
std::string LinkName(const std::string& path);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Files of /sys and /proc: short, of no size that stat would tell, and there or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

// Its first octets, without the white space at the end; none if it cannot be read.
std::optional<std::string> ReadSmallFile(const std::string& path, size_t most = 4096);

// As it stands there, NULs and all: `most` octets of it.
std::optional<std::string> ReadRawFile(const std::string& path, size_t most);

// Decimal, from 0 to 2^64-1; none for anything else.
std::optional<uint64_t> ReadNumberFile(const std::string& path);
std::optional<uint64_t> ParseDecimal(std::string_view text);

// Names in a folder but those that begin with a dot, sorted; none if it cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

// The last part of the path that a symbolic link names; empty if it is none.
std::string LinkName(const std::string& path);

}  // namespace rocescope

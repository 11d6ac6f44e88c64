// SPDX-License-Identifier: BSD-3-Clause
// Checks files of a run directory before they are opened.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope::sim {

// kNotFound: the file is missing, not a regular file, or cannot be read; opening a FIFO would wait
// forever. The error states the reason; `if_missing` replaces it if there is no such file.
Status CheckInputFile(const std::string& path, std::string_view if_missing);

}  // namespace rocescope::sim

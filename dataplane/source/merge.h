// SPDX-License-Identifier: BSD-3-Clause
// Merges several captures into one in the order of their timestamps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

// Always delivers from the source with the earliest next frame, or from the first of several equal
// ones. Frames of one source therefore keep their order even if its clock steps back. Holds one
// batch per source. A source that fails is removed and the others continue; its error is returned
// at the end in place of 0, the first one if there are several. A single source is returned
// unchanged.
std::unique_ptr<CaptureSource> MergeCaptures(std::vector<std::unique_ptr<CaptureSource>> sources);

// Opens and merges the files. Returns the error of the first file that cannot be opened.
Result<std::unique_ptr<CaptureSource>> OpenCaptures(std::span<const TapFile> files);

}  // namespace rocescope

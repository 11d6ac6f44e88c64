// SPDX-License-Identifier: BSD-3-Clause
// Several captures as one, in the order of their timestamps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

// Always delivers the source whose next frame is the earliest, the first given where they are
// equal. So frames of one source stay in its own order even where its clock steps back. Holds one
// batch per source. A source that fails is left out from there on and the others go on; its error
// comes at the end, in place of the 0, the first one if there are more. A single source is returned
// as it is.
std::unique_ptr<CaptureSource> MergeCaptures(std::vector<std::unique_ptr<CaptureSource>> sources);

// Opens and merges; the first file that cannot be opened is the error.
Result<std::unique_ptr<CaptureSource>> OpenCaptures(std::span<const TapFile> files);

}  // namespace rocescope

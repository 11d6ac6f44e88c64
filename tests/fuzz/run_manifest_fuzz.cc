// SPDX-License-Identifier: BSD-3-Clause
// run.json: a valid manifest round-trips.
#include <string_view>

#include "dataplane/run/manifest.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const auto manifest = ParseRunManifest({reinterpret_cast<const char*>(data), size});
  if (!manifest) {
    Require(!manifest.error().message.empty() && manifest.error().message.size() < 1000,
            "an error has a bounded message");
    return 0;
  }
  Require(manifest->analysis_window % manifest->record_interval == Duration(0),
          "a window is a multiple of the interval");
  const auto again = ParseRunManifest(RenderRunManifest(*manifest));
  Require(again.has_value() && *again == *manifest, "the manifest round-trips");
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// The fabric YAML format: a valid file is written as a text that parses to the same fabric, and the
// fabric has paths.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/require.h"
#include "topology/ecmp.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

void WalkPaths(const Fabric& fabric) {
  constexpr NicIndex kMaxNics = 8;
  Routes routes(fabric);
  const auto nics = std::min(kMaxNics, static_cast<NicIndex>(fabric.nics().size()));
  for (NicIndex a = 0; a < nics; ++a) {
    for (NicIndex b = 0; b < nics; ++b) {
      const PathSet paths(routes, a, b);
      if (paths.Count() == 0) continue;
      Require(paths.At(0).length >= 1 && paths.At(paths.Count() - 1).length >= 1,
              "paths have hops");
      const Path first = paths.At(0);
      Require(fabric.Peer(first.hops().back()) == fabric.nic(b).port, "paths arrive");
    }
  }
}

}  // namespace
}  // namespace rocescope::topology

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fabric = topology::LoadFabric(text, "fuzz");
  if (!fabric) {
    Require(fabric.error().message.starts_with("fuzz:"), "an error names the file");
    return 0;
  }
  constexpr size_t kMostLinks = 10'000;  // `generate` makes any number, which only takes longer
  if (fabric->links().size() > kMostLinks) return 0;
  const std::string written = topology::WriteFabric(*fabric);
  if (written.empty()) return 0;
  const auto again = topology::LoadFabric(written, "written");
  Require(again.has_value(), "the written text is valid");
  Require(topology::WriteFabric(*again) == written, "the written text is equivalent");
  topology::WalkPaths(*fabric);
  return 0;
}

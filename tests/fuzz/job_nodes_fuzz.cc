// SPDX-License-Identifier: BSD-3-Clause
// A job's nodes as written on the command line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analytics/job/job_nodes.h"
#include "tests/fuzz/require.h"

namespace {

using namespace rocescope;

bool IsSame(const AllocatedNode& a, const AllocatedNode& b) {
  return a.name == b.name && a.gpus == b.gpus;
}

void Nodes(std::string_view text) {
  const auto nodes = ParseJobNodes(text);
  if (!nodes || nodes->size() > 4096) return;  // long lists are not interesting
  std::vector<AllocatedNode> again;
  for (const std::string& part : WriteJobNodes(*nodes)) {
    const auto read = ParseJobNodes(part);
    Require(read.has_value(), "the written list is valid");
    again.insert(again.end(), read->begin(), read->end());
  }
  Require(again.size() == nodes->size(), "it has the same number of nodes");
  for (size_t i = 0; i < again.size(); ++i) {
    Require(IsSame(again[i], (*nodes)[i]), "the nodes are equal");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Nodes(text);
  return 0;
}

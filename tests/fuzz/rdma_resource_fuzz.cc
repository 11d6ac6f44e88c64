// SPDX-License-Identifier: BSD-3-Clause
// Output of `rdma resource show qp`, valid or not.
#include <cstdint>
#include <string_view>

#include "dataplane/host/rdma_resource.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const RdmaResource resource = ParseRdmaResource(text);
  Require(resource.notes.size() <= kMaxRdmaResourceNotes, "notes are bounded");
  Require(resource.notes.size() <= resource.malformed + resource.skipped, "notes are counted");
  for (const RdmaQueuePair& queue_pair : resource.queue_pairs) {
    Require(!queue_pair.device.empty(), "a queue pair has a device");
    Require(queue_pair.local.value <= k24BitMask, "a QPN has 24 bits");
    Require(queue_pair.line > 0, "a queue pair has a line");
  }
  return 0;
}

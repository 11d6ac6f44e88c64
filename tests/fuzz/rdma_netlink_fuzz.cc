// SPDX-License-Identifier: BSD-3-Clause
// Netlink messages about queue pairs, valid or not.
#include <cstdint>
#include <string_view>

#include "appliance/agent/rdma_netlink.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  constexpr uint32_t kSequence = 7;  // sequence of the seeds
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const RdmaNetlinkAnswer answer = ParseRdmaNetlink(text, kSequence);
  for (const RdmaQueuePair& one : answer.queue_pairs) {
    Require(!one.device.empty(), "a queue pair has a device");
    Require(one.local.value <= k24BitMask, "a QPN has 24 bits");
    Require(!one.remote || one.remote->value != 0, "a remote QPN is not 0");
  }
  Require(answer.queue_pairs.size() * 8 <= size, "each queue pair is part of the input");
  Require(!answer.error || *answer.error > 0, "errors are errno values");
  Require(!answer.error || answer.done, "an error ends the dump");
  return 0;
}

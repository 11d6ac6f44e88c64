// SPDX-License-Identifier: BSD-3-Clause
// Reads queue pairs from the kernel over netlink (NETLINK_RDMA, RDMA_NL_NLDEV), as `rdma resource
// show qp` does. Sources: rdma/rdma_netlink.h and linux/netlink.h of the kernel's user API;
// drivers/infiniband/core/nldev.c for the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/host/rdma_resource.h"

namespace rocescope {

// The parsed content of a datagram from the kernel.
struct RdmaNetlinkAnswer {
  std::vector<uint32_t> devices;           // device indices from RDMA_NLDEV_CMD_GET
  std::vector<RdmaQueuePair> queue_pairs;  // from RDMA_NLDEV_CMD_RES_QP_GET; `line` is 0
  bool done = false;                       // the dump is complete
  bool interrupted = false;                // the data changed during the dump: repeat it
  std::optional<int> error;                // errno
  uint64_t malformed = 0;  // messages or attributes that are truncated or incomplete
};

// Ignores messages of other dumps than `sequence`. Never fails.
RdmaNetlinkAnswer ParseRdmaNetlink(std::string_view datagram, uint32_t sequence);

// Builds a dump request. `device` is the device index for RES_QP_GET.
std::string RdmaNetlinkRequest(uint16_t command, uint32_t sequence, std::optional<uint32_t> device);

// Dumps the queue pairs of the caller's network namespace. An error says what to do; kUnimplemented
// means that the kernel has no RDMA support.
Result<std::vector<RdmaQueuePair>> ReadKernelQueuePairs();

}  // namespace rocescope

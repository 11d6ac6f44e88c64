// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs as the kernel tells them over netlink, the way `rdma resource show qp` asks for them:
// NETLINK_RDMA, RDMA_NL_NLDEV. Source: rdma/rdma_netlink.h and linux/netlink.h of the kernel's user
// API; drivers/infiniband/core/nldev.c for what stands where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/host/rdma_resource.h"
#include "base/result.h"

namespace rocescope {

// What a datagram from the kernel said.
struct RdmaNetlinkAnswer {
  std::vector<uint32_t> devices;           // of RDMA_NLDEV_CMD_GET: their indices
  std::vector<RdmaQueuePair> queue_pairs;  // of RDMA_NLDEV_CMD_RES_QP_GET; `line` is 0
  bool done = false;                       // the dump is over
  bool interrupted = false;                // it changed meanwhile: ask again
  std::optional<int> error;                // errno
  uint64_t malformed =
      0;  // messages or attributes that run out of their place, or lack what all have
};

// Messages of other dumps than `sequence` are passed over. Never fails.
RdmaNetlinkAnswer ParseRdmaNetlink(std::string_view datagram, uint32_t sequence);

// A request for a dump; of RES_QP_GET, `device` is its index.
std::string RdmaNetlinkRequest(uint16_t command, uint32_t sequence, std::optional<uint32_t> device);

// Asks the kernel. Queue pairs of other network namespaces are not told. The error says what to do;
// kUnimplemented: the kernel has no RDMA.
Result<std::vector<RdmaQueuePair>> ReadKernelQueuePairs();

}  // namespace rocescope

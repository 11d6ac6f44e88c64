// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace rocescope {

struct CallLimitOptions {
  // The first three apply to each client that has a certificate.
  uint32_t per_second = 500;  // calls
  uint32_t burst = 2000;      // calls that may arrive at once
  uint32_t max_open = 64;     // unary calls at the same time
  // Without certificates, clients are not distinguished and share this rate.
  uint32_t shared_per_second = 5000;  // calls; also the burst
  // Calls of all clients that are waiting, because they wait for the end of their request or for
  // a thread. Further ones are refused: gRPC queues calls that the client cancels immediately
  // faster than it completes them. A client with a certificate can have `max_open` of them.
  uint32_t max_waiting = 1024;
  // Refused calls per second of all clients above which the busiest connections are closed.
  uint32_t flood_threshold = 2000;
  // A unary call ends after this time, even if the client has not read the response.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

}  // namespace rocescope

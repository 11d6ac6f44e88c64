// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace rocescope {

struct CallLimitOptions {
  // Limits of each client that has a certificate.
  uint32_t per_second = 500;  // calls
  uint32_t burst = 2000;      // calls that may arrive at once
  uint32_t max_open = 64;     // unary calls in progress
  // Admitted calls that have not started, because the request is incomplete or no thread is free.
  uint32_t max_waiting_of_client = 64;

  // Limit of all clients together if the server has no certificates, because they are then not
  // distinguished.
  uint32_t shared_per_second = 5000;  // calls; also the burst

  // Limits of all clients.
  uint32_t max_waiting = 1024;  // as max_waiting_of_client
  // Bytes of the requests and responses of unary calls in progress, in memory and encoded. One
  // client with a certificate may use a quarter. Unset: GrpcServer sets an eighth of the memory
  // budget, at least 64 MiB.
  std::optional<uint64_t> max_bytes;
  // Handlers that may execute at the same time, without event streams and agents; further calls
  // wait. Readers only read; writers change jobs, acknowledgements or mutes, and
  // wait for the disk.
  uint32_t max_readers = 8;
  uint32_t max_writers = 16;
  // Refused calls per second above which the connections that send most are closed.
  uint32_t flood_threshold = 2000;
  // A unary call ends after this time, even if the client has not read the response.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

}  // namespace rocescope

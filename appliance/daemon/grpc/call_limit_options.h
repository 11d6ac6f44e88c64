// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace rocescope {

// Limits for each client with a certificate, except for the last one.
struct CallLimitOptions {
  uint32_t per_second = 500;  // calls
  uint32_t burst = 2000;      // calls that may arrive at once
  uint32_t open = 64;         // unary calls at the same time
  // A unary call ends after this time, even if the client has not read the response.
  std::chrono::milliseconds longest = std::chrono::seconds(30);
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The log message about data that the agent lost, at most once a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rocescope {

class LossWarning {
 public:
  using Clock = std::chrono::steady_clock;

  // Losses since the agent started.
  struct Losses {
    uint64_t batches = 0;           // BatchBuffer::Counts::lost_batches
    uint64_t bytes = 0;             // of these batches
    uint64_t unread_log_bytes = 0;  // LogTail::Counts::unread_bytes
  };

  // Returns a message if the losses grew since the last message and that was at least a minute ago.
  // Otherwise it returns an empty text.
  std::string Look(const Losses& losses, Clock::time_point now);

 private:
  Losses reported_;
  Clock::time_point due_ = Clock::time_point::min();
};

// Returns the problem of logs that were truncated or removed before the agent read them.
std::string UnreadLogText(uint64_t bytes);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The connection to the appliance: sends the buffered batches and the agent's state, and reconnects
// with exponential backoff.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "appliance/agent/batch_buffer.h"
#include "appliance/common/process/notice.h"
#include "base/result.h"

namespace rocescope {

// The agent state that a heartbeat reports in addition to the buffer's counts.
struct AgentCondition {
  uint64_t log_lines = 0;
  uint64_t log_lines_cut = 0;
  std::vector<std::string> problems;
};

class AgentLink {
 public:
  struct Options {
    std::string appliance;    // HOST:PORT
    std::string certificate;  // PEM texts; all three, or none
    std::string key;
    std::string appliance_ca;
    std::string host;
    std::string version;
    uint64_t session = 0;
    std::chrono::milliseconds heartbeat{2000};
    std::chrono::milliseconds timeout{15'000};  // without a message from the appliance
    std::chrono::milliseconds first_wait{250};  // backoff before the first retry; doubles
    std::chrono::milliseconds longest_wait{30'000};
    // Limit of unacknowledged bytes: a larger window does not increase the throughput.
    uint64_t most_bytes_under_way = uint64_t{1} << 20;
    Notify notify;
  };

  // Starts the connection. `buffer` must outlive this object.
  AgentLink(Options options, BatchBuffer& buffer);
  // Stops. Batches that are not acknowledged stay in the buffer.
  ~AgentLink();

  // Both are thread-safe.
  void SetCondition(AgentCondition condition);
  bool IsConnected() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

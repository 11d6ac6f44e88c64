// SPDX-License-Identifier: BSD-3-Clause
// The connection to the box: brings it what the buffer holds, says how the agent is, begins anew
// when it breaks, after ever longer waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/agent/batch_buffer.h"
#include "base/result.h"

namespace rocescope {

// What a pulse says beside the buffer's counts.
struct AgentCondition {
  uint64_t log_lines = 0;
  uint64_t log_lines_cut = 0;
  std::vector<std::string> problems;
};

class AgentLink {
 public:
  struct Options {
    std::string box;          // HOST:PORT
    std::string certificate;  // PEM texts; all three, or none
    std::string key;
    std::string appliance_ca;
    std::string host;
    std::string version;
    uint64_t session = 0;
    std::chrono::milliseconds pulse{2000};
    std::chrono::milliseconds patience{15'000};  // without a word from the box
    std::chrono::milliseconds first_wait{250};   // before a second try; doubles
    std::chrono::milliseconds longest_wait{30'000};
    // Batches under way: more could not be taken faster.
    uint64_t most_bytes_under_way = uint64_t{1} << 20;
    // By any thread: sentences to people.
    std::function<void(const std::string&)> tell;
  };

  // Begins; `buffer` must outlive it.
  AgentLink(Options options, BatchBuffer& buffer);
  // Ends, with what the box has not taken.
  ~AgentLink();

  // Any thread.
  void SetCondition(AgentCondition condition);
  bool IsConnected() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// `rocescope agent`: looks at its host and tells the box.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "appliance/agent/collector.h"
#include "appliance/common/config/agent_config.h"
#include "base/result.h"

namespace rocescope {

class Agent {
 public:
  // Reads certificates, begins to look for the box. The error says which of the configuration's
  // words is wrong, or which file. `tell` is for sentences to people, by any thread.
  static Result<std::unique_ptr<Agent>> Begin(const AgentConfig& config, const std::string& version,
                                              std::function<void(const std::string&)> tell,
                                              Collector::ReadQueuePairs read_queue_pairs);
  // Brings away what there is, if the box answers; at most two seconds.
  ~Agent();

  // Looks at the host until `stopped` says so, which is asked at least every 100 ms.
  void Run(const std::function<bool()>& stopped);

  BatchBuffer::Counts counts() const;
  bool IsConnected() const;

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// What the kernel calls this host; a name of its own is better than "localhost".
std::string OwnHostName();

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// `rocescope agent`: collects data on its host and sends it to the appliance.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "appliance/agent/collector.h"
#include "appliance/common/config/agent_config.h"
#include "appliance/common/process/notice.h"
#include "base/result.h"

namespace rocescope {

class Agent {
 public:
  // Reads the certificates and starts to connect. An error names the invalid setting or file.
  static Result<std::unique_ptr<Agent>> Begin(const AgentConfig& config, const std::string& version,
                                              Notify notify,
                                              Collector::ReadQueuePairs read_queue_pairs);
  // Sends the remaining data if the appliance is connected. Takes at most two seconds.
  ~Agent();

  // Collects data until `stopped` returns true. It is called at least every 100 ms.
  void Run(const std::function<bool()>& stopped);

  BatchBuffer::Counts counts() const;
  bool IsConnected() const;

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The host name that the kernel reports, or "localhost" if it reports none.
std::string OwnHostName();

}  // namespace rocescope

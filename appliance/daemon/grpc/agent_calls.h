// SPDX-License-Identifier: BSD-3-Clause
// The calls of agent.proto: thousands of hosts report at once, and one thread serves them all from
// a queue of gRPC's.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "appliance/common/config/config.h"
#include "appliance/daemon/grpc/gate.h"
#include "appliance/daemon/intake/agent_intake.h"

namespace rocescope {

class AgentCalls {
 public:
  // `intake` and `gate` must outlive it. Who calls and has not said hello after `patience` is not
  // waited for.
  AgentCalls(AgentIntake& intake, const Gate& gate, const AgentsConfig& config,
             std::chrono::milliseconds patience = std::chrono::seconds(10));
  // Calls End.
  ~AgentCalls();

  // Once, before the server is built.
  void AddTo(grpc::ServerBuilder& builder);
  // As soon as it is built.
  void Begin();
  // After the server's Shutdown, by which all calls end, and before the server is gone; or if none
  // could be built. Again is nothing.
  void End();

  // Grows at least once a second while the thread goes on. Any thread.
  uint64_t beats() const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

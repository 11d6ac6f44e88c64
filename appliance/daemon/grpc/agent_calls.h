// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous server of agent.proto: one thread serves thousands of agents from a completion
// queue.
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
  // `intake` and `gate` must outlive it. A client that sends no hello within `timeout` is
  // disconnected.
  AgentCalls(AgentIntake& intake, const Gate& gate, const AgentsConfig& config,
             std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // Calls End.
  ~AgentCalls();

  // Registers the service. Must be called once before the server is built.
  void AddTo(grpc::ServerBuilder& builder);
  // Starts serving. Must be called after the server is built.
  void Begin();
  // Stops the thread. Must be called after Shutdown of the server, which ends all calls, and before
  // the server is destroyed; also if the server could not be built. May be called repeatedly.
  void End();

  // Heartbeat: increases at least once a second while the thread runs. Thread-safe.
  uint64_t beats() const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

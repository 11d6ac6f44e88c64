// SPDX-License-Identifier: BSD-3-Clause
// The calls of agent.proto: thousands of hosts report at once, so no thread waits for any of them.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "appliance/config/config.h"
#include "appliance/grpc/gate.h"
#include "appliance/intake/agent_intake.h"

namespace rocescope {

// `intake` and `gate` must outlive it.
std::unique_ptr<grpc::Service> MakeAgentCalls(AgentIntake& intake, const Gate& gate,
                                              const AgentsConfig& config);

}  // namespace rocescope

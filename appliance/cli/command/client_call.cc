// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/client_call.h"

#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"

namespace rocescope {

std::unique_ptr<JobsClient> OpenClient(const JobsClientOptions& options) {
  auto client = JobsClient::Open(options);
  if (client) return *std::move(client);
  Message(client.error().message);
  return nullptr;
}

int FailCall(const CallError& error) {
  Message(error.message);
  return error.is_refused ? kExitDamaged : kExitUnreadable;
}

int PrintAnswer(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope

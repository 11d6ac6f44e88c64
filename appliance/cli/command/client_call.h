// SPDX-License-Identifier: BSD-3-Clause
// Common parts of the commands that call a running appliance over gRPC.
#pragma once

#include <memory>
#include <string>

#include "appliance/daemon/grpc/jobs_client.h"

namespace rocescope {

// Returns null after a message about a TLS file.
std::unique_ptr<JobsClient> OpenClient(const JobsClientOptions& options);

// Prints the error and returns the exit code: kExitDamaged if the appliance refused the call,
// otherwise kExitUnreadable.
int FailCall(const CallError& error);

// Writes to standard output and returns the exit code.
int PrintAnswer(const std::string& text);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Content of the HTTP server: dashboard, API and metrics.
#pragma once

#include "appliance/common/config/config.h"
#include "appliance/daemon/http/http_server.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

// Returns the handler for all requests. `service` must outlive it.
HttpHandler WebHandler(Service& service);

// Returns the handler of the listener for health checks: only the state, without names of hosts.
// `service` must outlive it.
HttpHandler HealthHandler(Service& service);

// Returns a function that counts refusals because of a limit, and formats them. `service` must
// outlive it.
HttpRefuser WebRefuser(Service& service);

// Formats a refusal: an error of the API for API paths and unknown paths, otherwise plain text.
HttpResponse WebRefusal(const HttpRefusal& refusal);

// Returns the gate that authorises viewers, schedulers, operators and tenants by their certificate.
// The handler refuses what tenants may not read.
HttpGate WebGate(const GrpcConfig& config);

}  // namespace rocescope

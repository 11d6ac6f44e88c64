// SPDX-License-Identifier: BSD-3-Clause
// All that the box serves over HTTP: the page, the API, metrics.
#pragma once

#include "appliance/common/config/config.h"
#include "appliance/daemon/http/http_server.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

// GET and HEAD alone. `service` must outlive the handler.
HttpHandler WebHandler(Service& service);

// An ApiError where a call of the API was asked for, else text.
HttpResponse WebRefusal(const HttpRefusal& refusal);

// Of callers with a certificate: viewers, schedulers and operators may, as over gRPC.
HttpGate WebGate(const GrpcConfig& config);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto as JSON over HTTP, under /api/v1/. Query parameters of GET and the
// JSON body of POST are the fields of the request; the body of the response is in the standard JSON
// mapping.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/http/http_message.h"
#include "appliance/daemon/http/request_target.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

inline constexpr std::string_view kApiRoot = "/api/v1/";

// Handles a request whose target is under kApiRoot.
HttpResponse AnswerJson(Service& service, const HttpRequest& request, const RequestTarget& target);

// Returns all paths that AnswerJson handles, in OpenAPI notation: "/api/v1/jobs/{id}".
std::vector<std::string> JsonPaths();

// `status`: the HTTP status instead of that of the error.
HttpResponse JsonError(const ServiceError& error, std::optional<unsigned> status = std::nullopt);

}  // namespace rocescope

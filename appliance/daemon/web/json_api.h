// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto as JSON over HTTP, under /api/v1/: parameters of the query are the
// request's fields, the body is the response in the standard JSON mapping.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/http/http_message.h"
#include "appliance/daemon/http/request_target.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

inline constexpr std::string_view kApiRoot = "/api/v1/";

// Of a target under kApiRoot.
HttpResponse AnswerJson(Service& service, const HttpRequest& request, const RequestTarget& target);

// All that AnswerJson answers, as OpenAPI writes paths: "/api/v1/jobs/{id}".
std::vector<std::string> JsonPaths();

HttpResponse JsonError(const ServiceError& error);

}  // namespace rocescope

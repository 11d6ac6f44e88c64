// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto as JSON over HTTP, under /api/v1/: parameters of the query are the
// request's fields, the body is the response in the standard JSON mapping.
#pragma once

#include <string_view>

#include "appliance/http/http_message.h"
#include "appliance/http/request_target.h"
#include "appliance/service/service.h"

namespace rocescope {

inline constexpr std::string_view kApiRoot = "/api/v1/";

// Of a target under kApiRoot.
HttpResponse AnswerJson(Service& service, const HttpRequest& request, const RequestTarget& target);

HttpResponse JsonError(const ServiceError& error);

}  // namespace rocescope

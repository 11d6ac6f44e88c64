// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/web.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/access/caller_roles.h"
#include "appliance/common/report/message_json.h"
#include "appliance/daemon/http/request_target.h"
#include "appliance/daemon/metrics/metrics.h"
#include "appliance/daemon/web/content_coding.h"
#include "appliance/daemon/web/json_api.h"
#include "appliance/daemon/web/page_files.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// Content security policy: no external or inline content, no framing.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpResponse Serve(const PageFile& file) {
  return {.content_type = std::string(file.content_type),
          .body = std::string(file.content),
          .headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", kPolicy},
                      {"Referrer-Policy", "no-referrer"}}};
}

// Health checks of container platforms: the status is the answer, and the body names the state.
constexpr std::string_view kAliveCheck = "/livez";
constexpr std::string_view kReadyCheck = "/readyz";
constexpr std::string_view kHealthCheck = "/healthz";

bool IsCheck(std::string_view path) {
  return path == kAliveCheck || path == kReadyCheck || path == kHealthCheck;
}

HttpResponse Check(Service& service, std::string_view path) {
  HttpResponse response = {.content_type = "text/plain; charset=utf-8",
                           .headers = {{"Cache-Control", "no-store"}}};
  if (path == kAliveCheck) {  // the process responds
    response.body = "alive\n";
    return response;
  }
  v1::Health health;
  if (!service.GetHealth(LocalCaller(), {}, health)) {
    response.status = 503;
    response.body = "unknown\n";
    return response;
  }
  const bool is_waiting = health.state() == v1::Health::STATE_WAITING;
  const bool is_degraded = health.state() == v1::Health::STATE_DEGRADED;
  response.body = is_waiting ? "waiting\n" : is_degraded ? "degraded\n" : "serving\n";
  // Ready: there is an answer. Healthy: as `rocescope healthcheck`.
  const bool is_good = path == kReadyCheck ? health.has_snapshot() : !is_degraded;
  if (!is_good) response.status = 503;
  return response;
}

HttpResponse Respond(Service& service, const HttpRequest& request) {
  const auto target = ParseRequestTarget(request.target);
  if (!target) {
    return JsonError(
        {.fault = ServiceFault::kBadRequest,
         .message = "malformed request target: expected a path with an optional query"});
  }
  const bool is_api = target->path.starts_with(kApiRoot);
  if (request.method != "GET" && !(is_api && request.method == "POST")) {
    return JsonError({.fault = ServiceFault::kWrongMethod,
                      .message = fmt::format("method {} is not supported; use {}", request.method,
                                             is_api ? "GET, HEAD or POST" : "GET or HEAD")});
  }
  if (is_api) return AnswerJson(service, request, *target);
  if (target->path == "/metrics") {
    if (!request.caller.MayReadAll()) {
      return JsonError({.fault = ServiceFault::kNotAllowed,
                        .message = WhyNotAllowed(request.caller, "read the metrics")});
    }
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = MetricsText(service)};
  }
  if (IsCheck(target->path)) return Check(service, target->path);
  if (target->path == "/favicon.ico") return {.status = 204};  // browsers request it automatically
  const auto files = PageFiles();
  const std::string_view path = target->path == "/" ? files.front().path : target->path;
  const auto file = std::ranges::find(files, path, &PageFile::path);
  if (file != files.end()) return Serve(*file);
  return JsonError(
      {.fault = ServiceFault::kUnknownPath,
       .message =
           "not found: the dashboard is at /, the API under /api/v1/, the metrics at /metrics"});
}

ServiceFault FaultOf(unsigned status, std::string_view method) {
  if (status == 401 || status == 403) return ServiceFault::kNotAllowed;
  if (status == 405) return ServiceFault::kWrongMethod;
  if (status == 413) return method == "POST" ? ServiceFault::kTooLarge : ServiceFault::kHasBody;
  if (status == 421) return ServiceFault::kOtherHost;
  return status == 429 || status == 503 ? ServiceFault::kTooMany : ServiceFault::kBadRequest;
}

}  // namespace

HttpResponse WebRefusal(const HttpRefusal& refusal) {
  if (!refusal.target.empty() && !refusal.target.starts_with("/api/")) {
    return {.status = refusal.status,
            .content_type = "text/plain; charset=utf-8",
            .body = refusal.why + "\n"};
  }
  return JsonError({.fault = FaultOf(refusal.status, refusal.method), .message = refusal.why},
                   refusal.status);
}

HttpHandler HealthHandler(Service& service) {
  return [&service](const HttpRequest& request) -> HttpResponse {
    if (request.method == "GET" && IsCheck(request.target)) return Check(service, request.target);
    if (request.method != "GET" || request.target != "/api/v1/health") {
      return JsonError({.fault = ServiceFault::kUnknownPath,
                        .message = "not found: this address serves only /api/v1/health, /healthz, "
                                   "/livez and /readyz"});
    }
    v1::Health health;
    if (const ServiceStatus answered = service.GetHealth(LocalCaller(), {}, health); !answered) {
      return JsonError(answered.error());
    }
    v1::Health state;
    state.set_state(health.state());
    HttpResponse response = {.content_type = "application/json",
                             .headers = {{"Cache-Control", "no-store"}}};
    AppendJson(state, false, response.body);
    return response;
  };
}

HttpRefuser WebRefuser(Service& service) {
  return [&service](const HttpRefusal& refusal) {
    if (FaultOf(refusal.status, refusal.method) == ServiceFault::kTooMany)
      ++service.refusals().http;
    return WebRefusal(refusal);
  };
}

HttpGate WebGate(const GrpcConfig& config) {
  return [roles = CallerRoles(config)](const std::vector<std::string>& names) -> Result<Caller> {
    Caller caller = roles.CallerOf(names);
    if ((caller.roles & kTenantAccess) != 0) return caller;
    return MakeError(ErrorCode::kPermissionDenied, WhyNotAllowed(names, "read over HTTP"));
  };
}

HttpHandler WebHandler(Service& service) {
  return [&service](const HttpRequest& request) {
    HttpResponse response = Respond(service, request);
    if (request.method == "GET") ApplyContentCoding(request, response);
    return response;
  };
}

}  // namespace rocescope

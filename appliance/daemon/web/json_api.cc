// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/json_api.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/access/caller_roles.h"
#include "appliance/common/report/message_json.h"
#include "appliance/daemon/web/event_stream.h"
#include "appliance/daemon/web/json_request.h"
#include "appliance/daemon/web/page_files.h"
#include "base/nearest.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using google::protobuf::Arena;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr const char* kJson = "application/json";
constexpr std::string_view kGet = "GET";
constexpr std::string_view kPost = "POST";

HttpResponse Json(const Message& message) {
  HttpResponse response = {.content_type = kJson};
  AppendJson(message, false, response.body);
  response.body += '\n';
  // A client may keep it only to ask, with its ETag, whether it has changed.
  response.headers.emplace_back("Cache-Control", "private, no-cache");
  return response;
}

template <typename Request, typename Response>
using CallOf = ServiceStatus (Service::*)(const Caller&, const Request&, Response&);

template <typename Request, typename Response>
HttpResponse Call(Service& service, const Caller& caller, CallOf<Request, Response> call,
                  const Request& request) {
  Arena arena;
  auto& response = *Arena::CreateMessage<Response>(&arena);
  if (const auto answered = (service.*call)(caller, request, response); !answered) {
    return JsonError(answered.error());
  }
  return Json(response);
}

template <auto call>
struct RouteOf;
template <typename Request, typename Response,
          ServiceStatus (Service::*call)(const Caller&, const Request&, Response&)>
struct RouteOf<call> {
  static HttpResponse Run(Service& service, const HttpRequest& http, const RequestTarget& target) {
    Request request;
    const bool is_post = http.method == kPost;
    const auto filled = is_post ? FillFromJson(http.body, request) : FillFromQuery(target, request);
    if (!filled) return JsonError(filled.error());
    HttpResponse response = Call(service, http.caller, call, request);
    // The response to a change belongs to one request only.
    if (is_post && response.status == 200) response.headers = {{"Cache-Control", "no-store"}};
    return response;
  }
};

struct Route {
  std::string_view method;  // "GET" or "POST"
  std::string_view path;    // "/api/v1/jobs/{job_id}"
  Roles access = 0;
  // Null: a stream of events.
  HttpResponse (*run)(Service&, const HttpRequest&, const RequestTarget&) = nullptr;
};
constexpr Route kRoutes[] = {
#define ROCESCOPE_CALL(service, name, request, response, path, access) \
  Route{kGet, path, access, RouteOf<&Service::name>::Run},
#define ROCESCOPE_POST(service, name, request, response, path, access) \
  Route{kPost, path, access, RouteOf<&Service::name>::Run},
#define ROCESCOPE_STREAM(service, name, request, response, path, access) \
  Route{kGet, path, access, nullptr},
#include "rocescope/v1/service_calls.inc"
};

// Matches a path with at most one parameter, the last segment: {job_id} takes the rest of the path.
// Returns the target with the parameter among the query parameters, or nullopt.
std::optional<RequestTarget> Match(const Route& route, const RequestTarget& target) {
  const size_t brace = route.path.find('{');
  if (route.path.empty()) return std::nullopt;  // gRPC only
  if (brace == std::string_view::npos) {
    return route.path == target.path ? std::optional(target) : std::nullopt;
  }
  if (!target.path.starts_with(route.path.substr(0, brace)) || target.path.size() == brace) {
    return std::nullopt;
  }
  const std::string name(route.path.substr(brace + 1, route.path.size() - brace - 2));
  RequestTarget matched = target;
  if (matched.query.contains(name)) matched.repeated = name;
  matched.query[name] = target.path.substr(brace);
  return matched;
}

HttpResponse Events(Service& service, const HttpRequest& request, const RequestTarget& target) {
  if (const auto sound = CheckParameters(target, {"cursor"}); !sound) {
    return JsonError(sound.error());
  }
  uint64_t cursor = 0;  // the active faults, then new events
  std::string text = request.last_event_id;
  if (const auto at = target.query.find("cursor"); text.empty() && at != target.query.end()) {
    text = at->second;
  }
  if (!text.empty() && !ParseNumber(text, cursor)) {
    return JsonError(
        RefuseFields({"cursor"}, fmt::format("expected the cursor of an event, found \"{}\"", text))
            .value());
  }
  return StreamEvents(service, request.caller, cursor);
}

HttpResponse WrongMethod(const HttpRequest& request, const Route& route) {
  const bool is_post = route.method == kPost;
  HttpResponse response =
      JsonError({.fault = ServiceFault::kWrongMethod,
                 .message = fmt::format("method {} is not supported for {}; use {}", request.method,
                                        route.path, is_post ? "POST" : "GET or HEAD")});
  std::erase_if(response.headers, [](const auto& header) { return header.first == "Allow"; });
  response.headers.emplace_back("Allow", is_post ? "POST" : "GET, HEAD");
  return response;
}

HttpResponse WrongContentType() {
  constexpr unsigned kUnsupportedMediaType = 415;
  return JsonError({.fault = ServiceFault::kBadRequest,
                    .message = "expected a JSON object and the header `Content-Type: "
                               "application/json`"},
                   kUnsupportedMediaType);
}

}  // namespace

std::vector<std::string> JsonPaths() {
  std::vector<std::string> paths = {fmt::format("{}openapi.json", kApiRoot)};
  for (const Route& route : kRoutes) {
    if (!route.path.empty()) paths.emplace_back(route.path);
  }
  return paths;
}

HttpResponse JsonError(const ServiceError& error, std::optional<unsigned> status) {
  const ServiceFaultInfo& info = InfoOf(error.fault);
  const auto detail = [](std::string_view type) {
    return nlohmann::ordered_json{
        {"@type", fmt::format("type.googleapis.com/google.rpc.{}", type)}};
  };
  nlohmann::ordered_json reason = detail("ErrorInfo");
  reason["reason"] = info.reason;
  reason["domain"] = kErrorDomain;
  auto details = nlohmann::ordered_json::array({std::move(reason)});
  if (!error.violations.empty()) {
    nlohmann::ordered_json& request = details.emplace_back(detail("BadRequest"));
    for (const FieldViolation& violation : error.violations) {
      request["field_violations"].push_back(
          {{"field", violation.field}, {"description", violation.description}});
    }
  }
  if (IsOverSoon(error.fault)) {
    details.emplace_back(detail("RetryInfo"))["retry_delay"] =
        fmt::format("{}s", kRetryAfterSeconds);
  }
  const nlohmann::ordered_json body = {{"error",
                                        {{"code", status.value_or(info.http_status)},
                                         {"message", error.message},
                                         {"status", info.grpc_code},
                                         {"details", std::move(details)}}}};
  // Requests may contain bytes that are not valid UTF-8.
  HttpResponse response = {
      .status = status.value_or(info.http_status),
      .content_type = kJson,
      .body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n'};
  response.headers.emplace_back("Cache-Control", "no-store");
  if (error.fault == ServiceFault::kWrongMethod)
    response.headers.emplace_back("Allow", "GET, HEAD");
  if (IsOverSoon(error.fault)) {
    response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  }
  return response;
}

HttpResponse AnswerJson(Service& service, const HttpRequest& request, const RequestTarget& target) {
  if (target.path == fmt::format("{}openapi.json", kApiRoot) && request.method == kGet) {
    const auto without_parameters = CheckParameters(target, {});
    if (!without_parameters) return JsonError(without_parameters.error());
    return {.content_type = kJson, .body = std::string(ApiFiles().front().content)};
  }
  for (const Route& route : kRoutes) {
    const auto matched = Match(route, target);
    if (!matched) continue;
    if (!matched->repeated.empty()) {
      return JsonError(
          RefuseFields({matched->repeated}, "expected one value, found several").value());
    }
    if (request.method != route.method) return WrongMethod(request, route);
    if ((request.caller.roles & route.access) == 0) {
      return JsonError(
          {.fault = ServiceFault::kNotAllowed,
           .message = WhyNotAllowed(
               request.caller,
               fmt::format("{} {}", route.method == kPost ? "call" : "read", route.path))});
    }
    if (route.method == kPost) {
      if (const auto sound = CheckParameters(target, {}); !sound) return JsonError(sound.error());
      if (!IsJson(request.content_type)) return WrongContentType();
    }
    return route.run == nullptr ? Events(service, request, target)
                                : route.run(service, request, *matched);
  }
  const std::vector<std::string> paths = JsonPaths();
  const std::vector<std::string_view> known(paths.begin(), paths.end());
  return JsonError(
      {.fault = ServiceFault::kUnknownPath,
       .message = fmt::format("unknown path {}{}", target.path, DidYouMean(target.path, known))});
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/json_api.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/access/caller_roles.h"
#include "appliance/common/report/message_json.h"
#include "appliance/daemon/web/event_stream.h"
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

HttpResponse Json(const Message& message) {
  HttpResponse response = {.content_type = kJson};
  AppendJson(message, false, response.body);
  response.body += '\n';
  // A client may keep it only to ask, with its ETag, whether it has changed.
  response.headers.emplace_back("Cache-Control", "private, no-cache");
  return response;
}

// Refuses leading zeros, so that each number has one path.
template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() &&
         text == fmt::format("{}", number);
}

// Sets a field of a request from text. Returns false if the text is not a valid value.
bool SetField(const FieldDescriptor& field, const std::string& text, Message& request) {
  const auto& reflection = *request.GetReflection();
  if (field.is_repeated()) {  // only strings are repeated; each may be a list
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return false;
    reflection.AddString(&request, &field, text);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    using google::protobuf::DynamicCastToGenerated;
    Message* const message = reflection.MutableMessage(&request, &field);
    if (auto* time = DynamicCastToGenerated<google::protobuf::Timestamp>(message)) {
      return ParseText(text, *time);
    }
    auto* const duration = DynamicCastToGenerated<google::protobuf::Duration>(message);
    return duration != nullptr && ParseText(text, *duration);
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    const auto* const value = field.enum_type()->FindValueByName(text);
    if (value == nullptr) return false;
    reflection.SetEnum(&request, &field, value);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    if (text != "true" && text != "false") return false;
    reflection.SetBool(&request, &field, text == "true");
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    uint64_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetUInt64(&request, &field, number);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    reflection.SetString(&request, &field, text);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    int64_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetInt64(&request, &field, number);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    int32_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetInt32(&request, &field, number);
    return true;
  }
  uint32_t number = 0;
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_UINT32 || !Parse(text, number)) return false;
  reflection.SetUInt32(&request, &field, number);
  return true;
}

// The highest number of a parameter. Signed ones are sizes, which must not be negative.
uint64_t MaxOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::numeric_limits<int32_t>::max();
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::numeric_limits<uint32_t>::max();
    case FieldDescriptor::CPPTYPE_INT64:
      return std::numeric_limits<int64_t>::max();
    default:
      return std::numeric_limits<uint64_t>::max();
  }
}

// Describes the valid values of a parameter.
std::string ValuesOf(const FieldDescriptor& field) {
  if (field.enum_type() != nullptr) {
    return fmt::format("one of {}", fmt::join(EnumeratorNames(*field.enum_type()), ", "));
  }
  if (IsTimestamp(field)) return "a time such as 2026-01-31T12:00:00Z";
  if (IsDuration(field)) return "a duration such as 60s";
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return "true or false";
  return fmt::format("a whole number from 0 to {} without leading zeros", MaxOf(field));
}

ServiceError UnknownParameter(const std::string& name, const std::vector<std::string_view>& known) {
  const std::string message =
      fmt::format("unknown parameter \"{}\"{}", name, DidYouMean(name, known));
  return {.fault = ServiceFault::kBadRequest,
          .message = message,
          .violations = {{.field = name, .description = message}}};
}

ServiceStatus CheckParameters(const RequestTarget& target,
                              const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : target.query) {
    if (std::ranges::find(known, name) == known.end()) {
      return tl::unexpected(UnknownParameter(name, known));
    }
  }
  return {};
}

// Sets the fields of a request from the query parameters of the same names.
ServiceStatus FillRequest(const RequestTarget& target, Message& request) {
  const auto& type = *request.GetDescriptor();
  for (const auto& [name, value] : target.query) {
    const FieldDescriptor* const field = type.FindFieldByName(name);
    if (field == nullptr) {
      std::vector<std::string_view> known;
      for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
      return tl::unexpected(UnknownParameter(name, known));
    }
    if (!SetField(*field, value, request)) {
      return RefuseFields({name},
                          fmt::format("expected {}, found \"{}\"", ValuesOf(*field), value));
    }
  }
  return {};
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
  static HttpResponse Run(Service& service, const Caller& caller, const RequestTarget& target) {
    Request request;
    if (const auto filled = FillRequest(target, request); !filled) {
      return JsonError(filled.error());
    }
    return Call(service, caller, call, request);
  }
};

struct Route {
  std::string_view path;  // "/api/v1/jobs/{job_id}"
  Roles access = 0;
  // Null: a stream of events.
  HttpResponse (*run)(Service&, const Caller&, const RequestTarget&) = nullptr;
};
constexpr Route kRoutes[] = {
#define ROCESCOPE_CALL(service, name, request, response, path, access) \
  Route{path, access, RouteOf<&Service::name>::Run},
#define ROCESCOPE_STREAM(service, name, request, response, path, access) \
  Route{path, access, nullptr},
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
  if (!text.empty() && !Parse(text, cursor)) {
    return JsonError(
        RefuseFields({"cursor"}, fmt::format("expected the cursor of an event, found \"{}\"", text))
            .value());
  }
  return StreamEvents(service, cursor);
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
  if (target.path == fmt::format("{}openapi.json", kApiRoot)) {
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
    if ((request.caller.roles & route.access) == 0) {
      return JsonError(
          {.fault = ServiceFault::kNotAllowed,
           .message = WhyNotAllowed(request.caller, fmt::format("read {}", route.path))});
    }
    return route.run == nullptr ? Events(service, request, target)
                                : route.run(service, request.caller, *matched);
  }
  const std::vector<std::string> paths = JsonPaths();
  const std::vector<std::string_view> known(paths.begin(), paths.end());
  return JsonError(
      {.fault = ServiceFault::kUnknownPath,
       .message = fmt::format("unknown path {}{}", target.path, DidYouMean(target.path, known))});
}

}  // namespace rocescope

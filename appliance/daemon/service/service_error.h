// SPDX-License-Identifier: BSD-3-Clause
// Errors of calls. One table gives the representation of each error in gRPC and HTTP.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace rocescope {

// Columns: enumerator, reason, gRPC status code and its number, HTTP status. The HTTP status is
// that of google.rpc.Code, except for requests that only HTTP can refuse (405, 413, 421: RFC 9110).
#define ROCESCOPE_SERVICE_FAULTS(ROW)                           \
  ROW(NoAnswerYet, "NO_SNAPSHOT_YET", "UNAVAILABLE", 14, 503)   \
  ROW(NoDataYet, "NO_DATA_YET", "UNAVAILABLE", 14, 503)         \
  ROW(NoTopology, "NO_TOPOLOGY", "FAILED_PRECONDITION", 9, 400) \
  ROW(NoHistory, "NO_HISTORY", "FAILED_PRECONDITION", 9, 400)   \
  ROW(NoDataAtTime, "NO_DATA_AT_TIME", "NOT_FOUND", 5, 404)     \
  ROW(UnknownJob, "UNKNOWN_JOB", "NOT_FOUND", 5, 404)           \
  ROW(UnknownElement, "UNKNOWN_ELEMENT", "NOT_FOUND", 5, 404)   \
  ROW(UnknownNode, "UNKNOWN_NODE", "NOT_FOUND", 5, 404)         \
  ROW(UnknownFinding, "UNKNOWN_FINDING", "NOT_FOUND", 5, 404)   \
  ROW(UnknownPath, "UNKNOWN_PATH", "NOT_FOUND", 5, 404)         \
  ROW(WrongMethod, "WRONG_METHOD", "UNIMPLEMENTED", 12, 405)    \
  ROW(BadRequest, "BAD_REQUEST", "INVALID_ARGUMENT", 3, 400)    \
  ROW(HasBody, "HAS_BODY", "INVALID_ARGUMENT", 3, 413)          \
  ROW(TooLarge, "TOO_LARGE", "INVALID_ARGUMENT", 3, 413)        \
  ROW(OtherHost, "OTHER_HOST", "INVALID_ARGUMENT", 3, 421)      \
  ROW(PageForgotten, "PAGE_FORGOTTEN", "OUT_OF_RANGE", 11, 400) \
  ROW(TooLong, "TOO_LONG", "OUT_OF_RANGE", 11, 400)             \
  ROW(NotStored, "NOT_STORED", "UNAVAILABLE", 14, 503)          \
  ROW(TooMany, "TOO_MANY", "RESOURCE_EXHAUSTED", 8, 429)        \
  ROW(NotAllowed, "NOT_ALLOWED", "PERMISSION_DENIED", 7, 403)

enum class ServiceFault : uint8_t {
#define ROW(id, reason, code, number, status) k##id,
  ROCESCOPE_SERVICE_FAULTS(ROW)
#undef ROW
      kCount,
};

struct ServiceFaultInfo {
  std::string_view reason;
  std::string_view grpc_code;
  int grpc_number = 0;
  unsigned http_status = 0;
};
inline constexpr std::array<ServiceFaultInfo, static_cast<size_t>(ServiceFault::kCount)>
    kServiceFaults = {{
#define ROW(id, reason, code, number, status) {reason, code, number, status},
        ROCESCOPE_SERVICE_FAULTS(ROW)
#undef ROW
    }};
constexpr const ServiceFaultInfo& InfoOf(ServiceFault fault) {
  return kServiceFaults[static_cast<size_t>(fault)];
}

// Returns the HTTP status that google/rpc/code.proto assigns to a gRPC status code, or 0 for the
// codes that the table does not use.
constexpr unsigned HttpStatusOf(int grpc_number) {
  switch (grpc_number) {
    case 3:   // INVALID_ARGUMENT
    case 9:   // FAILED_PRECONDITION
    case 11:  // OUT_OF_RANGE
      return 400;
    case 5:  // NOT_FOUND
      return 404;
    case 7:  // PERMISSION_DENIED
      return 403;
    case 8:  // RESOURCE_EXHAUSTED
      return 429;
    case 14:  // UNAVAILABLE
      return 503;
    default:
      return 0;
  }
}
static_assert(std::ranges::all_of(kServiceFaults, [](const ServiceFaultInfo& info) {
  const unsigned status = info.http_status;
  return status == HttpStatusOf(info.grpc_number) || status == 405 || status == 413 ||
         status == 421;
}));

// Returns whether a retry can succeed: the same call works once the
// analysis has progressed, or the disk is writable.
constexpr bool IsOverSoon(ServiceFault fault) { return InfoOf(fault).http_status == 503; }
inline constexpr int kRetryAfterSeconds = 1;
inline constexpr std::string_view kErrorDomain = "rocescope";

// An invalid field of a request.
struct FieldViolation {
  std::string field;        // name in the request message, or of a query parameter
  std::string description;  // why it is invalid, and what is valid
};

struct ServiceError {
  ServiceFault fault = ServiceFault::kBadRequest;
  std::string message;  // human-readable: what failed and what to do
  std::vector<FieldViolation> violations = {};
};

using ServiceStatus = tl::expected<void, ServiceError>;
template <typename T>
using ServiceResult = tl::expected<T, ServiceError>;

inline tl::unexpected<ServiceError> Refuse(ServiceFault fault, std::string message) {
  return tl::unexpected<ServiceError>(ServiceError{.fault = fault, .message = std::move(message)});
}

// Refuses a request because these fields are invalid, for the same reason.
inline tl::unexpected<ServiceError> RefuseFields(std::initializer_list<std::string_view> fields,
                                                 const std::string& description) {
  ServiceError error;
  for (const std::string_view field : fields) {
    error.message += (error.message.empty() ? "" : ", ") + std::string(field);
    error.violations.push_back({.field = std::string(field), .description = description});
  }
  error.message += ": " + description;
  return tl::unexpected<ServiceError>(std::move(error));
}

}  // namespace rocescope

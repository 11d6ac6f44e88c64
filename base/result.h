// SPDX-License-Identifier: BSD-3-Clause
// Errors of the cold path: whatever is not decided per packet returns a Result.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rocescope {

// What the caller can do about it. The values map one to one to gRPC codes at the service's edge.
enum class ErrorCode : uint8_t {
  kInvalidArgument,    // the caller's words or the input's content are wrong
  kNotFound,           // a named file, host or job does not exist
  kPermissionDenied,   // the operating system or the policy refused
  kResourceExhausted,  // a limit was reached
  kUnavailable,        // a peer or device does not answer now
  kUnimplemented,      // understood, but this build or version cannot do it
  kInternal,           // a defect in rocescope
};

// A message names the file and line or the peer, says what was expected and what to do.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> MakeError(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{.code = code, .message = std::move(message)});
}

}  // namespace rocescope

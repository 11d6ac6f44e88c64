// SPDX-License-Identifier: BSD-3-Clause
// Errors of the cold path. Every function that can fail and does not run per packet returns a
// Result.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rocescope {

// The category of an error. The values map one to one to gRPC status codes.
enum class ErrorCode : uint8_t {
  kInvalidArgument,    // an argument or the content of the input is invalid
  kNotFound,           // a named file, host or job does not exist
  kPermissionDenied,   // the operating system or the policy refused
  kResourceExhausted,  // a limit was reached
  kUnavailable,        // a peer or device does not respond at present
  kUnimplemented,      // understood, but this build or version cannot do it
  kInternal,           // a defect in rocescope
};

// The message says where the error occurred (file and line, or peer), what was expected, and what
// to do.
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

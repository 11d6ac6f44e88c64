// SPDX-License-Identifier: BSD-3-Clause
// What a box answers to schedulers, called from elsewhere: one short-lived connection, and one time
// limit for all that is done over it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"

namespace rocescope {

namespace v1 {
class GetJobResponse;
class ListRegisteredJobsResponse;
class RankNodesRequest;
class RankNodesResponse;
class RegisterJobRequest;
class RegisterJobResponse;
}  // namespace v1

struct JobsClientOptions {
  std::string box = "127.0.0.1:50051";  // HOST:PORT
  std::chrono::milliseconds timeout{2000};
  // PEM files, all three or none: without them the connection is in the clear.
  std::string ca;  // who signs the box's certificate
  std::string certificate;
  std::string key;
};

struct CallError {
  // By the box; else nobody answered in time, or what did is no rocescope.
  bool is_refused = false;
  std::string reason;   // of a refusal, for programs: "UNKNOWN_JOB"
  std::string message;  // for people
};
template <typename T>
using CallResult = tl::expected<T, CallError>;

class JobsClient {
 public:
  // Reads the files; connects when it is asked for something.
  static Result<std::unique_ptr<JobsClient>> Open(const JobsClientOptions& options);
  ~JobsClient();

  // Of one thread. The time limit counts from Open.
  CallResult<void> Register(const v1::RegisterJobRequest& request, v1::RegisterJobResponse& out);
  CallResult<void> End(uint64_t id, int64_t end_ns);  // 0: now
  // Of one job; or with 0 of all, whatever their number.
  CallResult<void> ListRegistered(uint64_t id, bool ended_too, v1::ListRegisteredJobsResponse& out);
  CallResult<void> Get(const std::string& id, v1::GetJobResponse& out);
  CallResult<void> Rank(const v1::RankNodesRequest& request, v1::RankNodesResponse& out);

 private:
  struct Parts;
  explicit JobsClient(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

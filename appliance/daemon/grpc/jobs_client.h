// SPDX-License-Identifier: BSD-3-Clause
// Client for schedulers and operators: one short-lived connection, and one time limit for all calls
// on it.
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
class AcknowledgeFindingRequest;
class AcknowledgeFindingResponse;
class EndJobResponse;
class GetJobResponse;
class ListAcknowledgementsResponse;
class ListMutesResponse;
class ListRegisteredJobsResponse;
class MuteFindingsRequest;
class MuteFindingsResponse;
class RecommendNodesRequest;
class RecommendNodesResponse;
class RegisterJobRequest;
class RegisterJobResponse;
class RegisteredJob;
class UnacknowledgeFindingRequest;
class UnacknowledgeFindingResponse;
class UnmuteFindingsRequest;
class UnmuteFindingsResponse;
}  // namespace v1

struct JobsClientOptions {
  std::string appliance = "127.0.0.1:50051";  // HOST:PORT
  std::chrono::milliseconds timeout{2000};
  // PEM files, all three or none. Without them the connection is not encrypted.
  std::string ca;  // CA that signs the certificate of the appliance
  std::string certificate;
  std::string key;
};

struct CallError {
  // True: the appliance refused the call. False: no answer in time, or the server is not rocescope.
  bool is_refused = false;
  std::string reason;   // machine-readable reason of a refusal, for example "UNKNOWN_JOB"
  std::string message;  // human-readable description
};
template <typename T>
using CallResult = tl::expected<T, CallError>;

class JobsClient {
 public:
  // Reads the files. The connection is opened on the first call.
  static Result<std::unique_ptr<JobsClient>> Open(const JobsClientOptions& options);
  ~JobsClient();

  // Not thread-safe. The time limit starts with Open.
  CallResult<void> Register(const v1::RegisterJobRequest& request, v1::RegisterJobResponse& out);
  CallResult<void> End(uint64_t id, int64_t end_ns, v1::EndJobResponse& out);  // 0: now
  CallResult<void> GetRegistered(uint64_t id, v1::RegisteredJob& out);
  // Lists all jobs, however many there are.
  CallResult<void> ListRegistered(bool ended_too, v1::ListRegisteredJobsResponse& out);
  CallResult<void> Get(const std::string& id, v1::GetJobResponse& out);
  CallResult<void> Rank(const v1::RecommendNodesRequest& request, v1::RecommendNodesResponse& out);
  CallResult<void> Acknowledge(const v1::AcknowledgeFindingRequest& request,
                               v1::AcknowledgeFindingResponse& out);
  CallResult<void> Unacknowledge(const v1::UnacknowledgeFindingRequest& request,
                                 v1::UnacknowledgeFindingResponse& out);
  CallResult<void> Mute(const v1::MuteFindingsRequest& request, v1::MuteFindingsResponse& out);
  CallResult<void> Unmute(const v1::UnmuteFindingsRequest& request,
                          v1::UnmuteFindingsResponse& out);
  // Lists all acknowledgements or mutes, however many there are.
  CallResult<void> ListAcknowledgements(v1::ListAcknowledgementsResponse& out);
  CallResult<void> ListMutes(bool show_expired, v1::ListMutesResponse& out);

 private:
  struct Parts;
  explicit JobsClient(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope

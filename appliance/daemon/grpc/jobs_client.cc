// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/jobs_client.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/files/text_file.h"
#include "appliance/daemon/grpc/deadline.h"
#include "rocescope/v1/error_details.pb.h"
#include "rocescope/v1/service.grpc.pb.h"

namespace rocescope {
namespace {

constexpr uintmax_t kLargestPem = uintmax_t{1} << 20;
// The ranks and edges of a job with 10,000 GPUs take tens of megabytes.
constexpr int kLargestAnswer = 256 << 20;

Result<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(const JobsClientOptions& options) {
  const bool any = !options.ca.empty() || !options.certificate.empty() || !options.key.empty();
  if (!any) return grpc::InsecureChannelCredentials();
  if (options.ca.empty() || options.certificate.empty() || options.key.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "--ca, --cert and --key must be given together");
  }
  grpc::SslCredentialsOptions tls;
  for (const auto& [path, text] : {std::pair(&options.ca, &tls.pem_root_certs),
                                   std::pair(&options.certificate, &tls.pem_cert_chain),
                                   std::pair(&options.key, &tls.pem_private_key)}) {
    Result<std::string> read = ReadTextFile(*path, kLargestPem, Pipes::kRead);
    if (!read) return tl::unexpected(read.error());
    *text = *std::move(read);
  }
  return grpc::SslCredentials(tls);
}

// Returns the reason of an error of the appliance; empty for other errors.
std::string ReasonOf(const grpc::Status& status) {
  v1::RpcStatus details;
  v1::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details().empty()) return "";
  if (!info.ParseFromString(details.details(0).value())) return "";
  return info.reason();
}

}  // namespace

struct JobsClient::Parts {
  std::string appliance;
  std::chrono::milliseconds timeout;
  gpr_timespec deadline;
  std::unique_ptr<v1::Jobs::Stub> jobs;
  std::unique_ptr<v1::Fabric::Stub> fabric;
  std::unique_ptr<v1::Diagnosis::Stub> diagnosis;

  template <typename Stub, typename Request, typename Response>
  CallResult<void> Call(Stub& stub,
                        grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, Response& response) const {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    const grpc::Status status = (stub.*call)(&context, request, &response);
    if (status.ok()) return {};
    CallError error = {.reason = ReasonOf(status)};
    error.is_refused = !error.reason.empty();
    if (error.is_refused) {
      error.message = status.error_message();
    } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      error.message = fmt::format("{}: no answer within {:.1f} s", appliance,
                                  static_cast<double>(timeout.count()) / 1e3);
    } else {
      error.message = fmt::format("{}: {}; check that rocescope serves gRPC at this address",
                                  appliance, status.error_message());
    }
    return tl::unexpected(std::move(error));
  }

  template <typename Stub, typename Request, typename Response>
  CallResult<void> CallAllPages(Stub& stub,
                                grpc::Status (Stub::*call)(grpc::ClientContext*, const Request&,
                                                           Response*),
                                Request request, Response& out) const {
    request.set_page_size(1000);
    while (true) {
      Response page;
      if (const auto called = Call(stub, call, request, page); !called) return called;
      const std::string next = page.next_page_token();
      page.clear_next_page_token();
      out.MergeFrom(page);
      if (next.empty()) return {};
      request.set_page_token(next);
    }
  }
};

Result<std::unique_ptr<JobsClient>> JobsClient::Open(const JobsClientOptions& options) {
  const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), After(options.timeout));
  const auto credentials = CredentialsOf(options);
  if (!credentials) return tl::unexpected(credentials.error());
  // The status of the call contains all relevant errors.
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
  grpc::ChannelArguments arguments;
  // The appliance is inside the cluster and not reachable through http_proxy.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  auto parts = std::make_unique<Parts>();
  parts->appliance = options.appliance;
  parts->timeout = options.timeout;
  parts->deadline = deadline;
  const auto channel = grpc::CreateCustomChannel(options.appliance, *credentials, arguments);
  parts->jobs = v1::Jobs::NewStub(channel);
  parts->fabric = v1::Fabric::NewStub(channel);
  parts->diagnosis = v1::Diagnosis::NewStub(channel);
  return std::unique_ptr<JobsClient>(new JobsClient(std::move(parts)));
}

JobsClient::JobsClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

JobsClient::~JobsClient() = default;

CallResult<void> JobsClient::Register(const v1::RegisterJobRequest& request,
                                      v1::RegisterJobResponse& out) {
  return parts_->Call(*parts_->jobs, &v1::Jobs::Stub::RegisterJob, request, out);
}

CallResult<void> JobsClient::End(uint64_t id, int64_t end_ns, v1::EndJobResponse& out) {
  v1::EndJobRequest request;
  request.set_scheduler_job_id(id);
  if (end_ns != 0) *request.mutable_end_time() = TimestampMessage(end_ns);
  return parts_->Call(*parts_->jobs, &v1::Jobs::Stub::EndJob, request, out);
}

CallResult<void> JobsClient::GetRegistered(uint64_t id, v1::RegisteredJob& out) {
  v1::GetRegisteredJobRequest request;
  request.set_scheduler_job_id(id);
  return parts_->Call(*parts_->jobs, &v1::Jobs::Stub::GetRegisteredJob, request, out);
}

CallResult<void> JobsClient::ListRegistered(bool ended_too, v1::ListRegisteredJobsResponse& out) {
  v1::ListRegisteredJobsRequest request;
  request.set_show_ended(ended_too);
  return parts_->CallAllPages(*parts_->jobs, &v1::Jobs::Stub::ListRegisteredJobs, request, out);
}

CallResult<void> JobsClient::Get(const std::string& id, v1::GetJobResponse& out) {
  v1::GetJobRequest request;
  request.set_job_id(id);
  return parts_->Call(*parts_->jobs, &v1::Jobs::Stub::GetJob, request, out);
}

CallResult<void> JobsClient::Rank(const v1::RecommendNodesRequest& request,
                                  v1::RecommendNodesResponse& out) {
  return parts_->Call(*parts_->fabric, &v1::Fabric::Stub::RecommendNodes, request, out);
}

CallResult<void> JobsClient::Acknowledge(const v1::AcknowledgeFindingRequest& request,
                                         v1::AcknowledgeFindingResponse& out) {
  return parts_->Call(*parts_->diagnosis, &v1::Diagnosis::Stub::AcknowledgeFinding, request, out);
}

CallResult<void> JobsClient::Unacknowledge(const v1::UnacknowledgeFindingRequest& request,
                                           v1::UnacknowledgeFindingResponse& out) {
  return parts_->Call(*parts_->diagnosis, &v1::Diagnosis::Stub::UnacknowledgeFinding, request, out);
}

CallResult<void> JobsClient::Mute(const v1::MuteFindingsRequest& request,
                                  v1::MuteFindingsResponse& out) {
  return parts_->Call(*parts_->diagnosis, &v1::Diagnosis::Stub::MuteFindings, request, out);
}

CallResult<void> JobsClient::Unmute(const v1::UnmuteFindingsRequest& request,
                                    v1::UnmuteFindingsResponse& out) {
  return parts_->Call(*parts_->diagnosis, &v1::Diagnosis::Stub::UnmuteFindings, request, out);
}

CallResult<void> JobsClient::ListAcknowledgements(v1::ListAcknowledgementsResponse& out) {
  return parts_->CallAllPages(*parts_->diagnosis, &v1::Diagnosis::Stub::ListAcknowledgements,
                              v1::ListAcknowledgementsRequest(), out);
}

CallResult<void> JobsClient::ListMutes(bool show_expired, v1::ListMutesResponse& out) {
  v1::ListMutesRequest request;
  request.set_show_expired(show_expired);
  return parts_->CallAllPages(*parts_->diagnosis, &v1::Diagnosis::Stub::ListMutes, request, out);
}

}  // namespace rocescope

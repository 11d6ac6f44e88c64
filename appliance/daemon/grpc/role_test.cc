// SPDX-License-Identifier: BSD-3-Clause
// Makes each call of each service over mutual TLS with each role.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/access/role.h"
#include "appliance/daemon/grpc/grpc_fixture.h"
#include "rocescope/v1/agent.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

std::set<std::string> AllCalls() {
  std::set<std::string> calls;
  for (const auto* file : {v1::Event::descriptor()->file(), v1::AgentHello::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        calls.insert("/" + file->service(i)->full_name() + "/" +
                     file->service(i)->method(j)->name());
      }
    }
  }
  return calls;
}

// Makes a call; returns OK as soon as a message of the response arrives.
class AnyCall {
 public:
  explicit AnyCall(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

  grpc::Status Make(const std::string& method, const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareCall(&context, method, &queue);
    call->StartCall(&queue);
    Await(queue);
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), &queue);
    Await(queue);
    grpc::ByteBuffer answer;
    call->Read(&answer, &queue);
    const bool has_answer = Await(queue);
    if (has_answer) context.TryCancel();  // ends a stream
    grpc::Status status;
    call->Finish(&status, &queue);
    Await(queue);
    return has_answer ? grpc::Status::OK : status;
  }

 private:
  static bool Await(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
};

// The documented permissions of roles (README.md), written independently of kCallRoles, which is
// tested here.
struct Promise {
  std::string_view call;
  std::string_view viewer, scheduler, operator_, agent, tenant;
};
constexpr std::string_view kMay = "may";
constexpr std::string_view kNot = "may not";
constexpr std::array kPromises = {
    Promise{"/rocescope.v1.Appliance/GetHealth", kMay, kMay, kMay, kMay, kMay},
    Promise{"/rocescope.v1.Appliance/ListSources", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Appliance/ListProblems", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Appliance/WatchEvents", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Jobs/ListJobs", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Jobs/GetJob", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Jobs/RegisterJob", kNot, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Jobs/EndJob", kNot, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Jobs/GetRegisteredJob", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Jobs/ListRegisteredJobs", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Fabric/GetTopology", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Fabric/ListLinkLoads", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Fabric/FindPaths", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Fabric/BatchFindPaths", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Fabric/ListHotspots", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Fabric/ListNodeSwitches", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Fabric/ListNodes", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Fabric/RecommendNodes", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/ListFindings", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Diagnosis/AcknowledgeFinding", kNot, kNot, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/UnacknowledgeFinding", kNot, kNot, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/MuteFindings", kNot, kNot, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/UnmuteFindings", kNot, kNot, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/ListAcknowledgements", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/ListMutes", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/ListAnomalies", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.Diagnosis/ListServiceLevels", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Diagnosis/GetDependencies", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.History/ListPastEvents", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.History/GetLinkHistory", kMay, kMay, kMay, kNot, kNot},
    Promise{"/rocescope.v1.History/GetJobHistory", kMay, kMay, kMay, kNot, kMay},
    Promise{"/rocescope.v1.Agents/Report", kNot, kNot, kMay, kMay, kNot},
};

// Returns a request with a job where tenants must name one. For WatchEvents it has a cursor, so
// that an event arrives at once. Others are empty.
std::string RequestOf(std::string_view call) {
  if (call == "/rocescope.v1.Appliance/WatchEvents") {
    v1::WatchEventsRequest request;
    request.set_cursor(1);
    return request.SerializeAsString();
  }
  if (call == "/rocescope.v1.Fabric/FindPaths") {
    v1::FindPathsRequest request;
    request.set_job_id("4711");
    return request.SerializeAsString();
  }
  if (call == "/rocescope.v1.Fabric/BatchFindPaths") {
    v1::BatchFindPathsRequest request;
    request.set_job_id("4711");
    return request.SerializeAsString();
  }
  if (call == "/rocescope.v1.Fabric/ListHotspots") {
    v1::ListHotspotsRequest request;
    request.set_job_id("4711");
    return request.SerializeAsString();
  }
  return "";
}

TEST_F(TlsTest, EachRoleMayUseOnlyItsCalls) {
  OpenDaemon(kFabric);
  MakeCertificates({"viewer1", "slurm", "root1", "agent7", "carol", "eve"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  config.schedulers = {"slurm"};
  config.operators = {"root1"};
  config.agents = {"agent7"};
  config.tenants = {{.name = "carol", .users = {"alice"}}};
  Serve(config);
  for (const auto& [name, promised] :
       std::map<std::string, std::string_view Promise::*>{{"viewer1", &Promise::viewer},
                                                          {"slurm", &Promise::scheduler},
                                                          {"root1", &Promise::operator_},
                                                          {"agent7", &Promise::agent},
                                                          {"carol", &Promise::tenant},
                                                          {"eve", nullptr}}) {
    AnyCall caller(OpenAs(name));
    for (const Promise& promise : kPromises) {
      const grpc::Status status = caller.Make(std::string(promise.call), RequestOf(promise.call));
      const std::string_view may = promised == nullptr ? kNot : promise.*promised;
      EXPECT_EQ(status.error_code() == grpc::StatusCode::PERMISSION_DENIED ? kNot : kMay, may)
          << name << ", " << promise.call << ": " << status.error_code() << " "
          << status.error_message();
      // An authorised call reaches the service, which answers or refuses the request.
      EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << promise.call;
      EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL) << promise.call;
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
        EXPECT_FALSE(status.error_details().empty()) << "the error has no details";
      }
    }
  }
}

// Services of gRPC itself, which clients use before any call of ours.
TEST_F(TlsTest, HealthAndReflectionRequireARole) {
  OpenDaemon("");
  MakeCertificates({"agent7", "eve"});
  GrpcConfig config = Config();
  config.agents = {"agent7"};
  Serve(config);
  const std::string list_services = "\x3a\x01*";  // ServerReflectionRequest.list_services = "*"
  for (const auto& [call, request] :
       {std::pair("/grpc.health.v1.Health/Check", std::string()),
        std::pair("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                  list_services)}) {
    EXPECT_TRUE(AnyCall(OpenAs("agent7")).Make(call, request).ok()) << call;
    const grpc::Status refused = AnyCall(OpenAs("eve")).Make(call, request);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << call;
    EXPECT_THAT(refused.error_message(), testing::HasSubstr("\"eve\" may not use this server"));
  }
}

TEST(Promises, CoverEachCall) {
  std::set<std::string> promised;
  for (const Promise& promise : kPromises) promised.emplace(promise.call);
  EXPECT_EQ(promised, AllCalls()) << "a new call needs a row";
}

TEST(CallRoles, HasExactlyOneRowForEachCall) {
  std::set<std::string> rows;
  for (const CallRoles& row : kCallRoles) {
    rows.emplace(row.method);
    EXPECT_NE(row.roles & Of(CallerRole::kOperator), 0)
        << row.method << ": operators may do everything";
  }
  EXPECT_EQ(rows, AllCalls());
}

}  // namespace
}  // namespace rocescope

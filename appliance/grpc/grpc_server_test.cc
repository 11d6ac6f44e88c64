// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <thread>

#include "appliance/access/role.h"
#include "appliance/agent/agent_link.h"
#include "appliance/grpc/jobs_client.h"
#include "appliance/service/service_fixture.h"
#include "rocescope/v1/agent.grpc.pb.h"
#include "rocescope/v1/error_details.pb.h"
#include "rocescope/v1/service.grpc.pb.h"
#include "tests/support/certificates.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};

class GrpcTest : public ServiceTest {
 protected:
  void Serve(const GrpcConfig& config) {
    auto server = GrpcServer::Start(config, *service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  std::string Target() const { return ToString(server_->listens().at(0)); }
  std::shared_ptr<grpc::Channel> Open() const {
    return grpc::CreateChannel(Target(), grpc::InsecureChannelCredentials());
  }
  ~GrpcTest() override { server_.reset(); }

  std::unique_ptr<GrpcServer> server_;
};

TEST_F(GrpcTest, AnswersAsTheServiceDoes) {
  OpenBox(kFabric);
  Serve({.listen = {kAnyPort}});
  const auto stub = v1::Jobs::NewStub(Open());
  v1::ListJobsResponse response;
  {
    grpc::ClientContext context;
    const grpc::Status early = stub->ListJobs(&context, {}, &response);
    EXPECT_EQ(early.error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  Publish(TwoJobs());
  grpc::ClientContext context;
  ASSERT_TRUE(stub->ListJobs(&context, {}, &response).ok());
  EXPECT_EQ(response.jobs_size(), 2);
}

TEST_F(GrpcTest, ErrorsHaveAReasonForPrograms) {
  OpenBox(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_id("nobody");
  v1::GetJobResponse response;
  const grpc::Status status = v1::Jobs::NewStub(Open())->GetJob(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("\"nobody\""));
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 5);
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  v1::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.reason(), "UNKNOWN_JOB");
}

TEST_F(GrpcTest, AnErrorQuotesNoMoreThanHeadersHold) {
  OpenBox(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_id(std::string(500'000, 'x'));
  v1::GetJobResponse response;
  const grpc::Status status = v1::Jobs::NewStub(Open())->GetJob(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_LT(status.error_message().size(), 1000u);
}

// Strangers' texts must not reach our log either: Protobuf would write a line of its own.
TEST_F(GrpcTest, ATextThatIsNotUtf8IsRefusedWithAReasonAndNotLogged) {
  OpenBox(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_id("\xff\xfe");
  v1::GetJobResponse response;
  testing::internal::CaptureStderr();
  const grpc::Status status = v1::Jobs::NewStub(Open())->GetJob(&context, request, &response);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("not UTF-8"));
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);
}

TEST_F(GrpcTest, EventsComeFromTheCursorOn) {
  OpenBox(kFabric);
  Serve({.listen = {kAnyPort}});
  v1::Event event;
  for (const char* kind : {"one", "two", "three"}) {
    event.set_kind(kind);
    service_->events().Append(event);
  }
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_cursor(service_->events().last() - 2);  // of the first
  const auto reader = v1::Appliance::NewStub(Open())->WatchEvents(&context, request);
  for (const char* kind : {"two", "three"}) {
    ASSERT_TRUE(reader->Read(&event));
    EXPECT_EQ(event.kind(), kind);
  }
  Publish(TwoJobs());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), "answer");
  EXPECT_EQ(event.age().version(), 1u);
  server_->Stop();
  EXPECT_FALSE(reader->Read(&event)) << "the server's end ends the stream";
}

TEST_F(GrpcTest, ListensElsewhereOnlyWithCertificates) {
  OpenBox("");
  const ListenAddress anywhere = {.address = IpAddress::FromV4(0)};
  const auto refused = GrpcServer::Start({.listen = {anywhere}}, *service_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("0.0.0.0:0 is not an address of loopback, and needs certificate"));
  const auto half = GrpcServer::Start({.listen = {kAnyPort}, .tls = {.key = "k.pem"}}, *service_);
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("belong together"));
}

TEST_F(GrpcTest, SaysThatItsPortIsTaken) {
  OpenBox("");
  Serve({.listen = {kAnyPort}});
  const auto second = GrpcServer::Start({.listen = server_->listens()}, *service_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              HasSubstr("Address already in use; does another program listen there?"));
}

// A certification authority, a certificate for the box, and one for each name.
class TlsTest : public GrpcTest {
 protected:
  void MakeCertificates(const std::vector<std::string>& names) {
    certificates_.emplace(folder_);
    Sign("box", "-addext subjectAltName=IP:127.0.0.1");
    for (const std::string& name : names) Sign(name, "-addext subjectAltName=DNS:" + name);
  }
  GrpcConfig Config() const {
    return {.listen = {kAnyPort},
            .tls = {.certificate = (folder_ / "box.pem").string(),
                    .key = (folder_ / "box.key").string(),
                    .client_ca = (folder_ / "ca.pem").string()}};
  }
  std::shared_ptr<grpc::Channel> OpenAs(const std::string& name) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Read("ca.pem");
    if (!name.empty()) {
      options.pem_private_key = Read(name + ".key");
      options.pem_cert_chain = Read(name + ".pem");
    }
    return grpc::CreateChannel(Target(), grpc::SslCredentials(options));
  }
  grpc::StatusCode Health(const std::string& name) {
    grpc::ClientContext context;
    v1::Health health;
    return v1::Appliance::NewStub(OpenAs(name))->GetHealth(&context, {}, &health).error_code();
  }
  grpc::StatusCode Sources(const std::string& name) {
    grpc::ClientContext context;
    v1::ListSourcesResponse sources;
    return v1::Appliance::NewStub(OpenAs(name))->ListSources(&context, {}, &sources).error_code();
  }

  void Sign(const std::string& name, const std::string& more,
            const std::string& common_name = "") const {
    certificates_->Sign(name, more, common_name);
  }
  std::string Read(const std::string& name) const { return certificates_->Read(name); }

 private:
  std::optional<test::Certificates> certificates_;
};

TEST_F(TlsTest, ANameInTheCertificateSaysWhatItsOwnerMayCall) {
  OpenBox("");
  MakeCertificates({"eve", "agent7", "viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  config.agents = {"agent7"};
  Serve(config);
  EXPECT_EQ(Health("viewer1"), grpc::StatusCode::OK);
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK);
  EXPECT_EQ(Health("agent7"), grpc::StatusCode::OK);
  EXPECT_EQ(Sources("agent7"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Health("eve"), grpc::StatusCode::PERMISSION_DENIED) << "no role";
  EXPECT_EQ(Health(""), grpc::StatusCode::UNAVAILABLE) << "no certificate, no connection";
}

TEST_F(TlsTest, ACommonNameCountsWhereThereIsNoOtherName) {
  OpenBox("");
  MakeCertificates({});
  Sign("old", "", "viewer1");
  Sign("gpu7", "-addext subjectAltName=DNS:gpu7", "viewer1");
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config);
  EXPECT_EQ(Sources("old"), grpc::StatusCode::OK);
  EXPECT_EQ(Sources("gpu7"), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(TlsTest, ASchedulersClientShowsItsCertificate) {
  OpenBox(kFabric);
  MakeCertificates({"slurm", "viewer1"});
  GrpcConfig config = Config();
  config.schedulers = {"slurm"};
  config.viewers = {"viewer1"};
  Serve(config);
  const auto register_as = [&](const std::string& name) {
    const auto client = JobsClient::Open({.box = Target(),
                                          .timeout = std::chrono::seconds(20),
                                          .ca = (folder_ / "ca.pem").string(),
                                          .certificate = (folder_ / (name + ".pem")).string(),
                                          .key = (folder_ / (name + ".key")).string()});
    v1::RegisterJobRequest job;
    job.set_id(7);
    job.add_nodes()->set_name("host1");
    v1::RegisterJobResponse registered;
    return client.value()->Register(job, registered);
  };
  EXPECT_TRUE(register_as("slurm"));
  const auto refused = register_as("viewer1");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_refused);
  EXPECT_EQ(refused.error().reason, "NOT_ALLOWED");
  const auto in_the_clear = JobsClient::Open({.box = Target()}).value()->End(7, 0);
  ASSERT_FALSE(in_the_clear);
  EXPECT_FALSE(in_the_clear.error().is_refused);
}

TEST_F(TlsTest, AnAgentReportsForTheHostThatItsCertificateNames) {
  OpenBox("");
  MakeCertificates({"node7.gpu.example", "viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  config.agents = {"*.gpu.example"};
  Serve(config);
  const auto report = [this](const std::string& name, const std::string& host) {
    grpc::ClientContext context;
    const auto stub = v1::Agents::NewStub(OpenAs(name));
    const auto stream = stub->Report(&context);
    v1::AgentMessage message;
    message.mutable_hello()->set_host(host);
    message.mutable_hello()->set_session(1);
    stream->Write(message);
    stream->WritesDone();
    v1::BoxMessage answer;
    while (stream->Read(&answer)) {
    }
    return stream->Finish();
  };
  EXPECT_TRUE(report("node7.gpu.example", "node7").ok());
  EXPECT_TRUE(report("node7.gpu.example", "node7.gpu.example").ok());
  const grpc::Status other = report("node7.gpu.example", "node8");
  EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(other.error_message(), HasSubstr("not those of the host \"node8\""));
  EXPECT_EQ(report("viewer1", "viewer1").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  ASSERT_EQ(box_->agents().Agents().size(), 2u) << "as they spell themselves";
}

TEST_F(TlsTest, AnAgentShowsItsCertificate) {
  OpenBox("");
  MakeCertificates({"node7"});
  GrpcConfig config = Config();
  config.agents = {"node7"};
  Serve(config);
  BatchBuffer buffer(1 << 20);
  buffer.Append(BatchKind::kLogs, "");
  const AgentLink link({.box = Target(),
                        .certificate = Read("node7.pem"),
                        .key = Read("node7.key"),
                        .box_ca = Read("ca.pem"),
                        .host = "node7",
                        .version = "1",
                        .session = 1,
                        .tell = [](const std::string& text) { ADD_FAILURE() << text; }},
                       buffer);
  EXPECT_TRUE(buffer.WaitUntilTaken(std::chrono::seconds(20)));
}

TEST(CallRoles, HasARowForEachCallAndNoOther) {
  std::set<std::string> calls;
  for (const auto* file : {v1::Event::descriptor()->file(), v1::AgentHello::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        calls.insert("/" + file->service(i)->full_name() + "/" +
                     file->service(i)->method(j)->name());
      }
    }
  }
  std::set<std::string> rows;
  for (const CallRoles& row : kCallRoles) {
    rows.emplace(row.method);
    EXPECT_NE(row.roles & Of(CallerRole::kOperator), 0)
        << row.method << ": operators may do everything";
  }
  EXPECT_EQ(rows, calls);
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/grpc_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "appliance/agent/agent_link.h"
#include "appliance/daemon/grpc/grpc_fixture.h"
#include "appliance/daemon/grpc/jobs_client.h"
#include "rocescope/v1/agent.grpc.pb.h"
#include "rocescope/v1/error_details.pb.h"
#include "rocescope/v1/service.grpc.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

TEST_F(GrpcTest, AnswersAsTheServiceDoes) {
  OpenDaemon(kFabric);
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

TEST_F(GrpcTest, ErrorsHaveAMachineReadableReason) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_job_id("nobody");
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

// BadRequest { field_violations { field: "page_token" description: "..." } } in the wire format of
// google.rpc.
TEST_F(GrpcTest, InvalidFieldsAreNamed) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::ListJobsRequest request;
  request.set_page_token("x");
  v1::ListJobsResponse response;
  const grpc::Status status = v1::Jobs::NewStub(Open())->ListJobs(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 2);
  EXPECT_EQ(details.details(1).type_url(), "type.googleapis.com/google.rpc.BadRequest");
  constexpr std::string_view kDescription =
      "not a token of this appliance; leave it empty for the first page";
  std::string violation =
      "\x0a\x0apage_token\x12" + std::string(1, static_cast<char>(kDescription.size()));
  violation += kDescription;
  EXPECT_EQ(details.details(1).value(),
            "\x0a" + std::string(1, static_cast<char>(violation.size())) + violation);
}

// RetryInfo { retry_delay { seconds: 1 } } in the wire format of google.rpc.
TEST_F(GrpcTest, UnavailableHasARetryDelay) {
  OpenDaemon(kFabric);
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::ListJobsResponse response;
  const grpc::Status status = v1::Jobs::NewStub(Open())->ListJobs(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 2);
  EXPECT_EQ(details.details(1).type_url(), "type.googleapis.com/google.rpc.RetryInfo");
  EXPECT_EQ(details.details(1).value(), "\x0a\x02\x08\x01");
}

TEST_F(GrpcTest, LongQuotationsInErrorsAreShortened) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_job_id(std::string(500'000, 'x'));
  v1::GetJobResponse response;
  const grpc::Status status = v1::Jobs::NewStub(Open())->GetJob(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_LT(status.error_message().size(), 1000u);
}

// Texts of clients must not reach our log either; Protobuf would log a line of its own.
TEST_F(GrpcTest, InvalidUtf8IsRefusedWithAReasonAndNotLogged) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  Serve({.listen = {kAnyPort}});
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_job_id("\xff\xfe");
  v1::GetJobResponse response;
  testing::internal::CaptureStderr();
  const grpc::Status status = v1::Jobs::NewStub(Open())->GetJob(&context, request, &response);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("all strings are valid UTF-8"));
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 3);
}

TEST_F(GrpcTest, StreamsEventsAfterTheCursor) {
  OpenDaemon(kFabric);
  Serve({.listen = {kAnyPort}});
  v1::Event event;
  for (const char* sentence : {"one", "two", "three"}) {
    event.set_sentence(sentence);
    service_->events().Append(event);
  }
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_cursor(service_->events().last() - 2);  // cursor of the first event
  const auto reader = v1::Appliance::NewStub(Open())->WatchEvents(&context, request);
  for (const char* sentence : {"two", "three"}) {
    ASSERT_TRUE(reader->Read(&event));
    EXPECT_EQ(event.sentence(), sentence);
  }
  Publish(TwoJobs());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), v1::Event::KIND_SNAPSHOT);
  EXPECT_EQ(event.snapshot().version(), 1u);
  server_->Stop();
  EXPECT_FALSE(reader->Read(&event)) << "stopping the server ends the stream";
}

class Watcher {
 public:
  Watcher(const std::shared_ptr<grpc::Channel>& channel, std::chrono::milliseconds deadline) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    v1::WatchEventsRequest request;
    request.set_cursor(1);  // no longer stored: the first event reports a gap
    reader_ = v1::Appliance::NewStub(channel)->WatchEvents(&context_, request);
  }
  bool Hears() {
    v1::Event event;
    return reader_->Read(&event);
  }
  void Cancel() { context_.TryCancel(); }
  grpc::StatusCode Finish() { return Status().error_code(); }
  grpc::Status Status() {
    while (Hears()) {
    }
    return reader_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::Event>> reader_;
};

TEST_F(GrpcTest, AStreamEndsAtItsDeadline) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  Watcher watcher(Open(), std::chrono::seconds(2));
  EXPECT_TRUE(watcher.Hears());
  EXPECT_EQ(watcher.Finish(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

// A stream occupies a thread, which must be released when its client is gone.
TEST_F(GrpcTest, CancelledStreamsReleaseTheirThreads) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  constexpr int kAsManyAsMay = 16;
  constexpr auto kLong = std::chrono::seconds(60);
  const auto channel = Open();
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < kAsManyAsMay; ++i) {
    watchers.push_back(std::make_unique<Watcher>(channel, kLong));
    ASSERT_TRUE(watchers.back()->Hears()) << i;
  }
  const grpc::Status refused = Watcher(channel, kLong).Status();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("16 event streams of one client"));
  EXPECT_EQ(service_->refusals().grpc, 1u);
  for (const auto& watcher : watchers) watcher->Cancel();
  for (const auto& watcher : watchers) {
    EXPECT_EQ(watcher->Finish(), grpc::StatusCode::CANCELLED);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool has_room = false;
  while (!has_room && std::chrono::steady_clock::now() < until) {
    Watcher another(channel, kLong);
    has_room = another.Hears();
    another.Cancel();
    another.Finish();
  }
  EXPECT_TRUE(has_room);
}

// Connects, and sends nothing.
class SilentPeer {
 public:
  explicit SilentPeer(const ListenAddress& server) : number_(ConnectTo(server)) {}
  ~SilentPeer() { close(number_); }
  SilentPeer(const SilentPeer&) = delete;

  // Waits until the server closes the connection.
  bool IsClosed() {
    char some[4096];
    ssize_t got = 1;
    while (got > 0) got = recv(number_, some, sizeof some, 0);
    return got == 0 || errno == ECONNRESET;
  }

 private:
  const int number_;
};

TEST_F(GrpcTest, SilentConnectionsEndAndDoNotLockOutOthers) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.handshake = std::chrono::seconds(2)});
  std::vector<std::unique_ptr<SilentPeer>> silent;
  for (int i = 0; i < 400; ++i) {
    silent.push_back(std::make_unique<SilentPeer>(server_->listens().at(0)));
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::Health health;
  EXPECT_TRUE(v1::Appliance::NewStub(Open())->GetHealth(&context, {}, &health).ok());
  for (const auto& peer : silent) EXPECT_TRUE(peer->IsClosed());
}

TEST_F(GrpcTest, ConnectionsWithoutACallEnd) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.idle = std::chrono::seconds(1)});
  const auto channel = Open();
  grpc::ClientContext context;
  v1::Health health;
  EXPECT_TRUE(v1::Appliance::NewStub(channel)->GetHealth(&context, {}, &health).ok());
  const auto late = std::chrono::system_clock::now() + std::chrono::seconds(20);
  EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, late));
}

// Streams of a service of gRPC itself. The server counts those of several connections in any order.
class OwnStreams {
 public:
  // Opens `count` streams on each channel.
  OwnStreams(const std::vector<std::shared_ptr<grpc::Channel>>& channels, const std::string& method,
             int count) {
    for (const auto& channel : channels) {
      grpc::GenericStub stub(channel);
      for (int i = 0; i < count; ++i) {
        Call& call = *calls_.emplace_back(std::make_unique<Call>());
        call.stream = stub.PrepareCall(&call.context, method, &queue_);
        call.stream->StartCall(&call);
      }
    }
    AwaitAll();
    grpc::Slice nothing;
    for (const auto& call : calls_) {
      call->stream->Write(grpc::ByteBuffer(&nothing, 1), call.get());
    }
    AwaitAll();
    for (const auto& call : calls_) call->stream->Finish(&call->status, call.get());
  }
  ~OwnStreams() {
    for (const auto& call : calls_) call->context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    for (; ended_ < calls_.size(); ++ended_) queue_.Next(&tag, &ok);
  }
  // Waits until this many streams were cancelled by the server.
  bool AreCancelled(size_t count) {
    void* tag = nullptr;
    bool ok = false;
    for (; ended_ < count; ++ended_) {
      const auto late = std::chrono::system_clock::now() + std::chrono::seconds(20);
      if (queue_.AsyncNext(&tag, &ok, late) != grpc::CompletionQueue::GOT_EVENT) return false;
      if (static_cast<Call*>(tag)->status.error_code() != grpc::StatusCode::CANCELLED) return false;
    }
    const auto soon = std::chrono::system_clock::now() + std::chrono::milliseconds(200);
    if (queue_.AsyncNext(&tag, &ok, soon) != grpc::CompletionQueue::GOT_EVENT) return true;
    ++ended_;
    return false;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  };
  void AwaitAll() {
    void* tag = nullptr;
    bool ok = false;
    for (size_t i = 0; i < calls_.size(); ++i) ASSERT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
  size_t ended_ = 0;
};

TEST_F(GrpcTest, StreamsOfOwnServicesAreLimited) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  OwnStreams reflection({Open()}, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                        200);
  EXPECT_TRUE(reflection.AreCancelled(200 - 8));
  // On several connections, because the number of calls of each is limited.
  OwnStreams watches({OpenAnother(), OpenAnother(), OpenAnother()}, "/grpc.health.v1.Health/Watch",
                     100);
  EXPECT_TRUE(watches.AreCancelled(300 - 256));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::Health answer;
  EXPECT_TRUE(v1::Appliance::NewStub(Open())->GetHealth(&context, {}, &answer).ok());
}

TEST_F(GrpcTest, RequiresCertificatesOutsideLoopback) {
  OpenDaemon("");
  const ListenAddress anywhere = {.address = IpAddress::FromV4(0)};
  const auto refused = GrpcServer::Start({.listen = {anywhere}}, *service_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("0.0.0.0:0 is not a loopback address and requires certificate"));
  const auto half = GrpcServer::Start({.listen = {kAnyPort}, .tls = {.key = "k.pem"}}, *service_);
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("incomplete TLS configuration"));
}

TEST_F(GrpcTest, ReportsAPortInUse) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  const auto second = GrpcServer::Start({.listen = server_->listens()}, *service_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              HasSubstr("Address already in use; check that no other program uses the port"));
}

TEST_F(TlsTest, CertificateNameDeterminesTheRole) {
  OpenDaemon("");
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

TEST_F(TlsTest, CommonNameCountsWithoutAlternativeNames) {
  OpenDaemon("");
  MakeCertificates({});
  Sign("old", "", "viewer1");
  Sign("gpu7", "-addext subjectAltName=DNS:gpu7", "viewer1");
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config);
  EXPECT_EQ(Sources("old"), grpc::StatusCode::OK);
  EXPECT_EQ(Sources("gpu7"), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(TlsTest, OnlyDnsNamesMatchEntriesWithoutAType) {
  OpenDaemon("");
  MakeCertificates({});
  Sign("uri", "-addext subjectAltName=URI:op", "op");
  Sign("mail", "-addext subjectAltName=email:op", "op");
  Sign("posing", "-addext subjectAltName=DNS:uri:spiffe");
  Sign("spiffe", "-addext subjectAltName=URI:spiffe");
  GrpcConfig config = Config();
  config.operators = {"op", "uri:spiffe"};
  Serve(config);
  EXPECT_EQ(Sources("uri"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("mail"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("posing"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("spiffe"), grpc::StatusCode::OK);
}

TEST_F(TlsTest, RevokedCertificatesMayCallNothing) {
  OpenDaemon("");
  MakeCertificates({"viewer1", "thief"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1", "thief"};
  Serve(config);
  EXPECT_EQ(Sources("thief"), grpc::StatusCode::OK);
  Revoke("thief");
  config.tls.crl = Path("crl.pem");
  ASSERT_TRUE(server_->SetTls(*ReadTls(config.tls, "grpc")));
  EXPECT_EQ(Sources("thief"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK);
}

TEST_F(TlsTest, ACertificateWithoutAnAcceptedNameIsExplained) {
  OpenDaemon("");
  MakeCertificates({});
  Sign("rid", "-addext subjectAltName=RID:1.2.3.4", "viewer1");
  Sign("other", "-addext \"subjectAltName=otherName:1.2.3.4;UTF8:viewer1\"", "viewer1");
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config);
  for (const char* name : {"rid", "other"}) {
    grpc::ClientContext context;
    v1::Health health;
    const grpc::Status refused =
        v1::Appliance::NewStub(OpenAs(name))->GetHealth(&context, {}, &health);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
    EXPECT_THAT(refused.error_message(), HasSubstr("has no name of an accepted type")) << name;
  }
}

TEST_F(TlsTest, LimitsTheEventStreamsOfACertificate) {
  OpenDaemon("");
  MakeCertificates({"viewer1", "viewer2"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1", "viewer2"};
  Serve(config);
  constexpr auto kLong = std::chrono::seconds(60);
  const auto channel = OpenAs("viewer1");
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 16; ++i) {
    watchers.push_back(std::make_unique<Watcher>(channel, kLong));
    ASSERT_TRUE(watchers.back()->Hears()) << i;
  }
  EXPECT_EQ(Watcher(OpenAs("viewer1"), kLong).Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  Watcher other(OpenAs("viewer2"), kLong);
  EXPECT_TRUE(other.Hears());
  other.Cancel();
  for (const auto& watcher : watchers) watcher->Cancel();
}

TEST_F(TlsTest, OpenStreamsOfARevokedCertificateEnd) {
  OpenDaemon("");
  MakeCertificates({"viewer1", "thief"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1", "thief"};
  config.agents = {"thief"};
  Serve(config);
  constexpr auto kLong = std::chrono::seconds(60);
  Watcher watcher(OpenAs("viewer1"), kLong);
  Watcher revoked(OpenAs("thief"), kLong);
  EXPECT_TRUE(watcher.Hears());
  EXPECT_TRUE(revoked.Hears());
  grpc::ClientContext context;
  const auto stub = v1::Agents::NewStub(OpenAs("thief"));
  const auto stream = stub->Report(&context);
  v1::AgentMessage message;
  message.mutable_hello()->set_host("thief");
  message.mutable_hello()->set_session_id(1);
  v1::ApplianceMessage answer;
  ASSERT_TRUE(stream->Write(message) && stream->Read(&answer));
  Revoke("thief");
  config.tls.crl = Path("crl.pem");
  ASSERT_TRUE(server_->SetTls(*ReadTls(config.tls, "grpc")));
  const grpc::Status status = revoked.Status();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("is revoked"));
  message.mutable_heartbeat()->set_now_ns(1);
  stream->Write(message);
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  v1::Event event;
  event.set_sentence("one");
  service_->events().Append(event);
  EXPECT_TRUE(watcher.Hears());
  watcher.Cancel();
}

TEST_F(TlsTest, ChangedCertificatesAreUsedWithoutARestart) {
  OpenDaemon("");
  MakeCertificates({"viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config);
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK);
  TlsTexts garbage = *ReadTls(config.tls, "grpc");
  garbage.key = "garbage";
  EXPECT_FALSE(server_->SetTls(garbage));
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK) << "the previous ones stay in effect";
  // A new authority, which has signed all certificates again.
  std::filesystem::remove_all(folder_ / "new");
  const test::Certificates other(folder_ / "new");
  other.Sign("appliance", "-addext subjectAltName=IP:127.0.0.1");
  other.Sign("viewer1", "-addext subjectAltName=DNS:viewer1");
  ASSERT_TRUE(server_->SetTls(*ReadTls({.certificate = other.Path("appliance.pem"),
                                        .key = other.Path("appliance.key"),
                                        .client_ca = other.Path("ca.pem")},
                                       "grpc")));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = other.Read("ca.pem");
  options.pem_private_key = other.Read("viewer1.key");
  options.pem_cert_chain = other.Read("viewer1.pem");
  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (code != grpc::StatusCode::OK && std::chrono::steady_clock::now() < end) {
    grpc::ClientContext context;
    v1::ListSourcesResponse sources;
    const auto stub =
        v1::Appliance::NewStub(grpc::CreateChannel(Target(), grpc::SslCredentials(options)));
    code = stub->ListSources(&context, {}, &sources).error_code();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(code, grpc::StatusCode::OK);
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::UNAVAILABLE) << "of the previous authority";
}

TEST_F(TlsTest, SchedulerClientPresentsItsCertificate) {
  OpenDaemon(kFabric);
  MakeCertificates({"slurm", "viewer1"});
  GrpcConfig config = Config();
  config.schedulers = {"slurm"};
  config.viewers = {"viewer1"};
  Serve(config);
  const auto register_as = [&](const std::string& name) {
    const auto client = JobsClient::Open({.appliance = Target(),
                                          .timeout = std::chrono::seconds(20),
                                          .ca = (folder_ / "ca.pem").string(),
                                          .certificate = (folder_ / (name + ".pem")).string(),
                                          .key = (folder_ / (name + ".key")).string()});
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(7);
    job.add_nodes()->set_node("host1");
    v1::RegisterJobResponse registered;
    return client.value()->Register(job, registered);
  };
  EXPECT_TRUE(register_as("slurm"));
  const auto refused = register_as("viewer1");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_refused);
  EXPECT_EQ(refused.error().reason, "NOT_ALLOWED");
  v1::EndJobResponse ended;
  const auto in_the_clear = JobsClient::Open({.appliance = Target()}).value()->End(7, 0, ended);
  ASSERT_FALSE(in_the_clear);
  EXPECT_FALSE(in_the_clear.error().is_refused);
}

v1::AgentMessage Hello(const std::string& host, uint64_t session) {
  v1::AgentMessage message;
  message.mutable_hello()->set_host(host);
  message.mutable_hello()->set_session_id(session);
  return message;
}

TEST_F(TlsTest, AgentReportsForTheHostInItsCertificate) {
  OpenDaemon("");
  MakeCertificates({"node7.gpu.example", "viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  config.agents = {"*.gpu.example"};
  Serve(config);
  EXPECT_TRUE(Report("node7.gpu.example", "node7.gpu.example").ok());
  for (const char* host : {"node8.gpu.example", "node7", "node7.gpu.example.x0"}) {
    const grpc::Status other = Report("node7.gpu.example", host);
    EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED) << host;
    EXPECT_THAT(other.error_message(), HasSubstr("does not contain the name of the host"));
  }
  EXPECT_EQ(Report("viewer1", "viewer1").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(daemon_->agents().Agents().size(), 1u);
}

// Streams of one certificate, each with a session of its own.
TEST_F(TlsTest, AHostileAgentTakesNothingFromOtherHosts) {
  OpenDaemon("", {}, {.domains = {"gpu.example"}, .most = 2});
  MakeCertificates({"evil.gpu.example", "node7.gpu.example"});
  GrpcConfig config = Config();
  config.agents = {"*.gpu.example"};
  Serve(config);
  struct Flow {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ApplianceMessage>> stream;
  };
  const auto stub = v1::Agents::NewStub(OpenAs("evil.gpu.example"));
  std::vector<std::unique_ptr<Flow>> flows;
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    auto flow = std::make_unique<Flow>();
    flow->stream = stub->Report(&flow->context);
    // Half of the streams send no hello.
    if (i % 2 == 0) {
      flow->stream->Write(Hello(i % 4 == 0 ? "evil" : "evil.gpu.example", 1 + i));
      v1::ApplianceMessage answer;  // to the hello
      if (!flow->stream->Read(&answer)) ++refused;
    }
    flows.push_back(std::move(flow));
  }
  EXPECT_GT(refused, 0) << "the number of streams is limited";
  EXPECT_EQ(daemon_->agents().Agents().size(), 1u) << "one place for all streams";
  EXPECT_TRUE(Report("node7.gpu.example", "node7").ok());
  EXPECT_EQ(daemon_->agents().Agents().size(), 2u);
  for (const auto& flow : flows) flow->context.TryCancel();
}

// Four seconds of the rate may arrive at once; connecting again does not renew them.
TEST_F(TlsTest, AConnectionDoesNotRenewTheRateOfItsCertificate) {
  OpenDaemon("", {}, {.bytes_per_second = 100'000});
  MakeCertificates({"node7"});
  GrpcConfig config = Config();
  config.agents = {"node7"};
  Serve(config);
  v1::AgentMessage batch;
  batch.mutable_batch()->add_logs()->set_text(std::string(300'000, 'x'));
  const auto begin = std::chrono::steady_clock::now();
  uint64_t sequence = 0;
  for (int connection = 0; connection < 3; ++connection) {
    grpc::ClientContext context;
    const auto stub = v1::Agents::NewStub(OpenAs("node7"));
    const auto stream = stub->Report(&context);
    stream->Write(Hello("node7", 1));
    batch.mutable_batch()->set_sequence(++sequence);
    stream->Write(batch);
    v1::ApplianceMessage answer;
    while (answer.accepted_sequence() < sequence && stream->Read(&answer)) {
    }
    ASSERT_EQ(answer.accepted_sequence(), sequence);
    context.TryCancel();
  }
  // 900 kB of which 400 kB are free: the third connection waits for the debt of the second one.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500));
}

TEST_F(TlsTest, AgentPresentsItsCertificate) {
  OpenDaemon("");
  MakeCertificates({"node7"});
  GrpcConfig config = Config();
  config.agents = {"node7"};
  Serve(config);
  BatchBuffer buffer(1 << 20);
  buffer.Append(BatchKind::kLogs, "");
  const AgentLink link({.appliance = Target(),
                        .certificate = Read("node7.pem"),
                        .key = Read("node7.key"),
                        .appliance_ca = Read("ca.pem"),
                        .host = "node7",
                        .version = "1",
                        .session = 1,
                        .notify =
                            [](Severity severity, const std::string& text) {
                              if (severity != Severity::kInfo) ADD_FAILURE() << text;
                            }},
                       buffer);
  EXPECT_TRUE(buffer.WaitUntilTaken(std::chrono::seconds(20)));
}

}  // namespace
}  // namespace rocescope

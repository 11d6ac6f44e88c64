// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/jobs_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "appliance/daemon/grpc/grpc_server.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class JobsClientTest : public ServiceTest {
 protected:
  ~JobsClientTest() override { server_.reset(); }

  void Serve() {
    OpenDaemon(kFabric);
    auto server =
        GrpcServer::Start({.listen = {{.address = IpAddress::FromV4(0x7f000001)}}}, *service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    options_.appliance = ToString(server_->listens().at(0));
    options_.timeout = std::chrono::seconds(20);
  }
  std::unique_ptr<JobsClient> Open() {
    auto client = JobsClient::Open(options_);
    EXPECT_TRUE(client) << client.error().message;
    return *std::move(client);
  }
  static v1::RegisterJobRequest Job(uint64_t id) {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(id);
    job.add_nodes()->set_node("host1");
    job.add_nodes()->set_node("elsewhere");
    return job;
  }

  v1::EndJobResponse ended_;
  JobsClientOptions options_;
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(JobsClientTest, RegistersEndsAndLists) {
  Serve();
  const auto client = Open();
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(client->Register(Job(7), registered));
  EXPECT_THAT(registered.unknown_nodes(), testing::ElementsAre("elsewhere"));
  ASSERT_TRUE(client->End(7, 0, ended_));
  v1::ListRegisteredJobsResponse running;
  ASSERT_TRUE(client->ListRegistered(false, running));
  EXPECT_THAT(running.registered_jobs(), SizeIs(0));
  v1::ListRegisteredJobsResponse all;
  ASSERT_TRUE(client->ListRegistered(true, all));
  ASSERT_THAT(all.registered_jobs(), SizeIs(1));
  EXPECT_TRUE(all.registered_jobs(0).ended());
  v1::RegisteredJob one;
  ASSERT_TRUE(client->GetRegistered(7, one));
  EXPECT_EQ(one.SerializeAsString(), all.registered_jobs(0).SerializeAsString());
  EXPECT_EQ(client->GetRegistered(8, one).error().reason, "UNKNOWN_JOB");
}

TEST_F(JobsClientTest, ListsPagesToTheEnd) {
  Serve();
  for (uint64_t id = 1; id <= 2100; ++id) {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(id);
    job.add_nodes()->set_node("host1");
    v1::RegisterJobResponse registered;
    ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  }
  v1::ListRegisteredJobsResponse all;
  ASSERT_TRUE(Open()->ListRegistered(false, all));
  EXPECT_THAT(all.registered_jobs(), SizeIs(2100));
  EXPECT_EQ(all.registered_jobs(2099).scheduler_job_id(), 2100u);
}

TEST_F(JobsClientTest, RefusalHasTheReasonOfTheAppliance) {
  Serve();
  const auto ended = Open()->End(98, 0, ended_);
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().is_refused);
  EXPECT_EQ(ended.error().reason, "UNKNOWN_JOB");
  EXPECT_THAT(ended.error().message, HasSubstr("job 98 is not registered"));
}

TEST_F(JobsClientTest, FailsImmediatelyIfNothingListens) {
  Serve();
  server_->Stop();
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = Open()->End(7, 0, ended_);
  ASSERT_FALSE(ended);
  EXPECT_FALSE(ended.error().is_refused);
  EXPECT_THAT(ended.error().message, HasSubstr(options_.appliance));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options_.timeout);
}

// The kernel accepts connections for a stopped process, which does not answer.
TEST_F(JobsClientTest, TimesOutIfThereIsNoAnswer) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof where;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&where), &length), 0);
  options_ = {.appliance = "127.0.0.1:" + std::to_string(ntohs(where.sin_port)),
              .timeout = std::chrono::milliseconds(300)};
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = Open()->End(7, 0, ended_);
  const auto took = std::chrono::steady_clock::now() - begin;
  close(listener);
  ASSERT_FALSE(ended);
  EXPECT_FALSE(ended.error().is_refused);
  EXPECT_THAT(ended.error().message, HasSubstr("no answer within 0.3 s"));
  EXPECT_GE(took, std::chrono::milliseconds(290));
  EXPECT_LT(took, std::chrono::seconds(5));
}

TEST_F(JobsClientTest, RequiresAllThreeTlsFiles) {
  options_.ca = "ca.pem";
  const auto client = JobsClient::Open(options_);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("must be given together"));
}

}  // namespace
}  // namespace rocescope

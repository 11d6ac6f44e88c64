// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analytics/job/flow_of.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PathCalls : public ServiceTest {
 protected:
  PathCalls() { OpenDaemon(kFabric); }

  static void AddPair(const std::string& source, const std::string& destination,
                      v1::BatchFindPathsRequest& request) {
    auto& pair = *request.add_pairs();
    pair.set_source(source);
    pair.set_destination(destination);
  }
  v1::BatchFindPathsResponse Batch(const v1::BatchFindPathsRequest& request) {
    v1::BatchFindPathsResponse response;
    const ServiceStatus status = service_->BatchFindPaths(LocalCaller(), request, response);
    EXPECT_TRUE(status) << status.error().message;
    return response;
  }
  ServiceError ErrorOf(const v1::BatchFindPathsRequest& request) {
    v1::BatchFindPathsResponse response;
    const ServiceStatus status = service_->BatchFindPaths(LocalCaller(), request, response);
    return status ? ServiceError{.fault = ServiceFault::kCount} : status.error();
  }
  // Flows from host0 to host1 with ascending queue pair numbers.
  void PublishFlows(uint32_t count) {
    const Snapshot one = OneFlow("host0", "host1");
    std::vector<FlowPath> paths;
    for (uint32_t i = 0; i < count; ++i) {
      paths.push_back(*one.paths->begin());
      paths.back().flow.destination_qpn = Qpn{100 + i};
    }
    Snapshot snapshot;
    snapshot.paths = std::make_shared<const FlowPaths>(paths);
    Publish(std::move(snapshot));
  }
};

TEST_F(PathCalls, AnUnknownEndpointIsAnErrorOfItsPair) {
  PublishFlows(1);
  v1::BatchFindPathsRequest request;
  AddPair("host0", "host1", request);
  AddPair("host0", "nowhere", request);
  AddPair("host1", "host0:mlx5_0", request);
  AddPair("", "host1", request);
  const v1::BatchFindPathsResponse response = Batch(request);
  EXPECT_EQ(response.snapshot().version(), 1u);
  EXPECT_EQ(response.next_page_token(), "");
  ASSERT_THAT(response.results(), SizeIs(4));
  ASSERT_THAT(response.results(0).paths(), SizeIs(1));
  EXPECT_EQ(response.results(0).total_size(), 1);
  EXPECT_EQ(response.results(0).paths(0).source(), AddressOf("host0"));
  EXPECT_FALSE(response.results(0).has_error());
  EXPECT_EQ(response.results(1).error().code(), 5) << "NOT_FOUND";
  EXPECT_EQ(response.results(1).error().reason(), "UNKNOWN_ELEMENT");
  EXPECT_THAT(response.results(1).error().message(), HasSubstr("destination: \"nowhere\""));
  EXPECT_THAT(response.results(2).paths(), IsEmpty()) << "no traffic in this direction";
  EXPECT_FALSE(response.results(2).has_error());
  EXPECT_EQ(response.results(3).error().code(), 3) << "INVALID_ARGUMENT";
}

TEST_F(PathCalls, ABatchFindsTheSamePathsAsSingleCalls) {
  PublishFlows(25);
  v1::BatchFindPathsRequest request;
  AddPair("host0", "host1", request);
  request.set_paths_per_pair(7);
  v1::FindPathsRequest single;
  single.set_source("host0");
  single.set_destination("host1");
  single.set_page_size(7);
  v1::FindPathsResponse page;
  ASSERT_TRUE(service_->FindPaths(LocalCaller(), single, page));
  const v1::BatchFindPathsResponse response = Batch(request);
  EXPECT_EQ(response.results(0).total_size(), 25);
  ASSERT_THAT(response.results(0).paths(), SizeIs(7));
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(response.results(0).paths(i).DebugString(), page.paths(i).DebugString());
  }
  request.clear_paths_per_pair();
  EXPECT_THAT(Batch(request).results(0).paths(), SizeIs(10)) << "the default";
}

TEST_F(PathCalls, EndpointsOfAJobAreRanks) {
  Snapshot snapshot = OneFlow("host0", "host1");
  const FlowKey flow = snapshot.paths->begin()->flow;
  Connection connection;
  connection.endpoints[0] = {.address = flow.source, .qpn = Qpn{6}};
  connection.endpoints[1] = {.address = flow.destination, .qpn = flow.destination_qpn};
  snapshot.connections =
      std::make_shared<const ConnectionList>(std::vector<Connection>{connection});
  Attribution attribution;
  for (const char* id : {"nccl-1", "nccl-2"}) attribution.jobs.emplace_back().job.id = id;
  attribution.endpoints.push_back({RankClaim{.job = 1, .rank = 3}, RankClaim{.job = 1, .rank = 5}});
  snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
  Publish(std::move(snapshot));
  v1::BatchFindPathsRequest request;
  request.set_job_id("nccl-2");
  AddPair("3", "5", request);
  AddPair("5", "3", request);
  AddPair("3", "host1", request);
  const v1::BatchFindPathsResponse response = Batch(request);
  ASSERT_THAT(response.results(), SizeIs(3));
  EXPECT_THAT(response.results(0).paths(), SizeIs(1));
  EXPECT_THAT(response.results(1).paths(), IsEmpty());
  EXPECT_THAT(response.results(2).error().message(), HasSubstr("expected a rank number"));
  request.set_job_id("nccl-1");
  EXPECT_THAT(Batch(request).results(0).paths(), IsEmpty()) << "the ranks of another job";
  request.set_job_id("nccl-3");
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kUnknownJob);
}

TEST_F(PathCalls, LargeResponsesHavePages) {
  PublishFlows(300);
  v1::BatchFindPathsRequest request;
  request.set_paths_per_pair(1000);
  for (int i = 0; i < 1000; ++i) AddPair("host0", i == 999 ? "host9" : "host1", request);
  int results = 0;
  int pages = 0;
  bool last_has_error = false;
  do {
    const v1::BatchFindPathsResponse page = Batch(request);
    ASSERT_GT(page.results_size(), 0);
    EXPECT_LE(page.ByteSizeLong(), (uint64_t{3} << 20) + 10'000);
    results += page.results_size();
    ++pages;
    last_has_error = page.results(page.results_size() - 1).has_error();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(results, 1000);
  EXPECT_GT(pages, 3);
  EXPECT_TRUE(last_has_error) << "the results have the order of the pairs";
}

TEST_F(PathCalls, InvalidBatchesAreRefused) {
  v1::BatchFindPathsRequest request;
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kBadRequest);
  AddPair("host0", "host1", request);
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kNoAnswerYet);
  PublishFlows(1);
  request.set_paths_per_pair(-1);
  EXPECT_THAT(ErrorOf(request).message, HasSubstr("paths_per_pair"));
  request.set_paths_per_pair(0);
  request.set_page_token("1.2.3");
  EXPECT_THAT(ErrorOf(request).message, HasSubstr("page_token"));
  request.clear_page_token();
  for (int i = 0; i < 1000; ++i) AddPair("host0", "host1", request);
  EXPECT_EQ(ErrorOf(request).message, "pairs: expected 1 to 1000 pairs, found 1001");
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "appliance/api/message_value.h"
#include "appliance/daemon/service/event_reader.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/finding_review.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class FindingCallsTest : public ServiceTest {
 protected:
  // Host0's NIC is down since second 3. The data ends at second 5.
  void OpenWithFaults() {
    OpenDaemon(kFabric);
    const topology::Fabric& fabric = *daemon_->fabric();
    const auto nic = fabric.NicsOf(fabric.FindNode("host0")).front();
    Finding active = {.kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic}};
    active.confidence = 0.9;
    active.from = FromNanoseconds(3'000'000'000);
    Snapshot snapshot;
    snapshot.findings = std::make_shared<const Findings>(Findings{active});
    Publish(std::move(snapshot));
    place_ = Listed().findings(0).place();
  }
  v1::ListFindingsResponse Listed(const std::string& filter = "") {
    v1::ListFindingsRequest request;
    request.set_filter(filter);
    v1::ListFindingsResponse response;
    const ServiceStatus status = service_->ListFindings(LocalCaller(), request, response);
    EXPECT_TRUE(status) << status.error().message;
    return response;
  }
  template <typename Request>
  Request Of(const std::string& place = "") const {
    Request request;
    request.set_kind("nic_crash");
    request.set_place(place.empty() ? place_ : place);
    return request;
  }
  template <typename Request, typename Response>
  ServiceError ErrorOf(ServiceStatus (Service::*call)(const Caller&, const Request&, Response&),
                       const Request& request, const Caller& caller = LocalCaller()) {
    Response response;
    const ServiceStatus status = (service_.get()->*call)(caller, request, response);
    return status ? ServiceError{.fault = ServiceFault::kCount} : status.error();
  }

  const Caller ada_ = {.name = "ada", .roles = rocescope::Of(CallerRole::kOperator), .users = {}};
  std::string place_;
};

TEST_F(FindingCallsTest, AcknowledgementIsPartOfTheFindingAndOfEvents) {
  OpenWithFaults();
  v1::AcknowledgeFindingResponse response;
  auto request = Of<v1::AcknowledgeFindingRequest>();
  request.set_comment("ticket 7");
  ASSERT_TRUE(service_->AcknowledgeFinding(ada_, request, response));
  EXPECT_EQ(response.acknowledgement().user(), "ada");
  EXPECT_EQ(Nanoseconds(response.acknowledgement().start_time()), 3'000'000'000);
  EXPECT_FALSE(response.durable());
  EXPECT_THAT(response.storage_problem(), HasSubstr("no `findings.file`"));
  EXPECT_EQ(Listed().findings(0).acknowledgement().comment(), "ticket 7");
  EXPECT_THAT(Listed("acknowledgement:*").findings(), SizeIs(1));
  EXPECT_THAT(Listed("acknowledgement.user = \"ada\"").findings(), SizeIs(1));
  EXPECT_THAT(Listed("NOT acknowledgement:*").findings(), SizeIs(0));
  EventReader reader(*service_, LocalCaller(), 0);
  const auto events = reader.Next();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1]->finding().acknowledgement().user(), "ada");
  v1::ListAcknowledgementsResponse listed;
  ASSERT_TRUE(service_->ListAcknowledgements(LocalCaller(), {}, listed));
  ASSERT_THAT(listed.acknowledgements(), SizeIs(1));
  EXPECT_EQ(listed.acknowledgements(0).place(), place_);
  v1::UnacknowledgeFindingResponse withdrawn;
  ASSERT_TRUE(
      service_->UnacknowledgeFinding(ada_, Of<v1::UnacknowledgeFindingRequest>(), withdrawn));
  EXPECT_THAT(withdrawn.acknowledgements(), SizeIs(1));
  EXPECT_FALSE(Listed().findings(0).has_acknowledgement());
}

TEST_F(FindingCallsTest, MuteIsPartOfTheFinding) {
  OpenWithFaults();
  v1::MuteFindingsResponse response;
  auto request = Of<v1::MuteFindingsRequest>();
  ASSERT_TRUE(service_->MuteFindings(ada_, request, response));
  EXPECT_EQ(Nanoseconds(response.mute().expire_time()) - Nanoseconds(response.mute().mute_time()),
            86'400'000'000'000)
      << "one day by default";
  EXPECT_EQ(response.finding_count(), 1u);
  EXPECT_EQ(Listed().findings(0).mute().user(), "ada");
  EXPECT_THAT(Listed("mute:*").findings(), SizeIs(1));
  EXPECT_THAT(Listed("NOT mute:*").findings(), SizeIs(0));
  ASSERT_TRUE(service_->MuteFindings(ada_, Of<v1::MuteFindingsRequest>("elsewhere"), response));
  EXPECT_EQ(response.finding_count(), 0u) << "a mute may precede the fault";
  v1::ListMutesResponse listed;
  ASSERT_TRUE(service_->ListMutes(LocalCaller(), {}, listed));
  EXPECT_THAT(listed.mutes(), SizeIs(2));
  v1::UnmuteFindingsResponse withdrawn;
  ASSERT_TRUE(service_->UnmuteFindings(ada_, Of<v1::UnmuteFindingsRequest>(), withdrawn));
  EXPECT_FALSE(Listed().findings(0).has_mute());
}

TEST_F(FindingCallsTest, InvalidRequestsNameTheField) {
  OpenWithFaults();
  auto request = Of<v1::MuteFindingsRequest>();
  request.set_kind("nic_crahs");
  ServiceError error = ErrorOf(&Service::MuteFindings, request);
  EXPECT_THAT(error.message, HasSubstr("kind: expected a fault kind, found \"nic_crahs\"; did you "
                                       "mean \"nic_crash\"?"));
  for (const int64_t duration : {int64_t{0}, int64_t{-1}, int64_t{30 * 86'400 + 1}, INT64_MAX}) {
    request = Of<v1::MuteFindingsRequest>();
    request.mutable_duration()->set_seconds(duration);
    error = ErrorOf(&Service::MuteFindings, request);
    ASSERT_THAT(error.violations, SizeIs(1)) << duration;
    EXPECT_EQ(error.violations[0].field, "duration");
  }
  request.mutable_duration()->set_seconds(30 * 86'400);
  EXPECT_EQ(ErrorOf(&Service::MuteFindings, request).fault, ServiceFault::kCount);
  request.set_comment(std::string(1001, 'x'));
  EXPECT_EQ(ErrorOf(&Service::MuteFindings, request).violations.at(0).field, "comment");
  request = Of<v1::MuteFindingsRequest>();
  request.clear_place();
  EXPECT_EQ(ErrorOf(&Service::MuteFindings, request).violations.at(0).field, "place");
  request.set_place(std::string(1025, 'x'));
  EXPECT_EQ(ErrorOf(&Service::MuteFindings, request).violations.at(0).field, "place");
}

TEST_F(FindingCallsTest, UnknownFindingsAreNotFound) {
  OpenWithFaults();
  auto request = Of<v1::AcknowledgeFindingRequest>("host1:mlx5_0");
  EXPECT_EQ(ErrorOf(&Service::AcknowledgeFinding, request).fault, ServiceFault::kUnknownFinding);
  request = Of<v1::AcknowledgeFindingRequest>();
  request.set_direction("leaf0:1");
  EXPECT_EQ(ErrorOf(&Service::AcknowledgeFinding, request).fault, ServiceFault::kUnknownFinding);
  EXPECT_EQ(ErrorOf(&Service::UnacknowledgeFinding, Of<v1::UnacknowledgeFindingRequest>()).fault,
            ServiceFault::kUnknownFinding);
  EXPECT_EQ(ErrorOf(&Service::UnmuteFindings, Of<v1::UnmuteFindingsRequest>()).fault,
            ServiceFault::kUnknownFinding);
}

TEST_F(FindingCallsTest, WhoIsLocalOnlyWithoutAnyIdentity) {
  OpenWithFaults();
  v1::AcknowledgeFindingResponse response;
  const auto request = Of<v1::AcknowledgeFindingRequest>();
  ASSERT_TRUE(service_->AcknowledgeFinding(LocalCaller(), request, response));
  EXPECT_EQ(response.acknowledgement().user(), "local");
  const Caller nameless = {.name = "", .roles = ada_.roles, .users = {}};
  EXPECT_EQ(ErrorOf(&Service::AcknowledgeFinding, request, nameless).fault,
            ServiceFault::kNotAllowed);
}

TEST_F(FindingCallsTest, OnlyOperatorsMayChange) {
  for (const char* call :
       {"AcknowledgeFinding", "UnacknowledgeFinding", "MuteFindings", "UnmuteFindings"}) {
    EXPECT_EQ(RolesOf(std::string("/rocescope.v1.Diagnosis/") + call), ada_.roles) << call;
  }
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/own_jobs.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "appliance/common/access/role.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using google::protobuf::Descriptor;

// The messages that tenants receive, with their number of fields. All fields are visible to tenants
// unless own_jobs.cc removes them, or the call does not fill them.
struct ReviewedMessage {
  std::string_view name;
  int field_count = 0;
};
constexpr std::array kReviewedMessages = {
    ReviewedMessage{"Allocation", 3},
    ReviewedMessage{"BatchFindPathsResponse", 3},
    ReviewedMessage{"Collective", 7},
    ReviewedMessage{"Culprit", 7},
    ReviewedMessage{"Edge", 17},
    ReviewedMessage{"Event", 6},
    ReviewedMessage{"FindPathsResponse", 4},
    ReviewedMessage{"FlowPath", 7},
    ReviewedMessage{"GetJobHistoryResponse", 3},
    ReviewedMessage{"GetJobResponse", 3},
    ReviewedMessage{"Group", 1},
    ReviewedMessage{"Health", 9},
    ReviewedMessage{"IterationPattern", 8},
    ReviewedMessage{"IterationPatternMember", 3},
    ReviewedMessage{"Job", 9},
    ReviewedMessage{"JobNode", 2},
    ReviewedMessage{"JobPoint", 7},
    ReviewedMessage{"JobSummary", 15},
    ReviewedMessage{"ListFindingsResponse", 6},
    ReviewedMessage{"ListHotspotsResponse", 4},
    ReviewedMessage{"ListJobsResponse", 4},
    ReviewedMessage{"ListRegisteredJobsResponse", 3},
    ReviewedMessage{"ListServiceLevelsResponse", 8},
    ReviewedMessage{"LostTime", 3},
    ReviewedMessage{"PairError", 3},
    ReviewedMessage{"PairPaths", 3},
    ReviewedMessage{"PathInterval", 15},
    ReviewedMessage{"PortShare", 2},
    ReviewedMessage{"Rank", 8},
    ReviewedMessage{"RankQp", 8},
    ReviewedMessage{"RegisteredJob", 9},
    ReviewedMessage{"ServiceIndicator", 10},
    ReviewedMessage{"ServiceLevel", 10},
    ReviewedMessage{"SnapshotMetadata", 4},
    ReviewedMessage{"Straggler", 7},
    ReviewedMessage{"Suspect", 4},
};

// own_jobs.cc copies these field by field, so that a new field is hidden.
bool IsCopiedByField(const Descriptor& message) {
  return &message == v1::Finding::descriptor() || &message == v1::Hotspot::descriptor() ||
         &message == v1::DiagnosisCoverage::descriptor();
}

// Adds the number of fields of the message and of all messages in it.
void CountFields(const Descriptor& message, std::map<std::string, int>& counts) {
  if (message.file()->package() != "rocescope.v1" || IsCopiedByField(message)) return;
  if (!counts.emplace(message.name(), message.field_count()).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const Descriptor* const inner = message.field(i)->message_type();
    if (inner != nullptr) CountFields(*inner, counts);
  }
}

TEST(OwnJobs, EachFieldForTenantsIsReviewed) {
  std::map<std::string, int> counts;
  for (const CallRoles& row : kCallRoles) {
    if ((row.roles & Of(CallerRole::kTenant)) == 0) continue;
    std::string name(row.method.substr(1));
    std::ranges::replace(name, '/', '.');
    const auto* const method = v1::Health::descriptor()->file()->pool()->FindMethodByName(name);
    ASSERT_NE(method, nullptr) << name;
    CountFields(*method->output_type(), counts);
  }
  // Parts that are copied whole from messages that are copied field by field.
  CountFields(*v1::Culprit::descriptor(), counts);
  CountFields(*v1::LostTime::descriptor(), counts);
  CountFields(*v1::Suspect::descriptor(), counts);
  for (const auto& [name, count] : counts) {
    const auto row =
        std::ranges::find(kReviewedMessages, std::string_view(name), &ReviewedMessage::name);
    if (row == kReviewedMessages.end()) {
      ADD_FAILURE() << "tenants receive the new message " << name
                    << ": decide in own_jobs.cc which of its fields they may see, then add it to "
                       "kReviewedMessages";
      continue;
    }
    EXPECT_EQ(count, row->field_count)
        << "a new field of " << name
        << ": decide whether a tenant may see it in own_jobs.cc, then change this number";
  }
  EXPECT_EQ(counts.size(), kReviewedMessages.size())
      << "kReviewedMessages has a message that tenants do not receive";
}

}  // namespace
}  // namespace rocescope

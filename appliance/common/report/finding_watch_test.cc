// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/finding_watch.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <vector>

#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FindingWatchTest : public testing::Test {
 protected:
  // Records "started S" and so on.
  std::vector<std::string> Look(const std::string& fields, Duration after = std::chrono::hours(1)) {
    now_ += after;
    v1::ReplayReport report;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &report));
    std::vector<std::string> news;
    watch_.Look(report, now_, [&](FindingChange change, const v1::Finding& finding) {
      EXPECT_NE(finding.kind(), "");
      EXPECT_NE(finding.place(), "");
      news.push_back(std::string(NameOf(change)) + " " + finding.sentence());
      affected_.assign(finding.affected_job_ids().begin(), finding.affected_job_ids().end());
    });
    return news;
  }
  static constexpr const char* kFlap = "findings { kind: 'flap' place: 'a-b' sentence: 'F' } ";

  FindingWatch watch_;
  Timestamp now_{};
  std::vector<std::string> affected_;  // jobs of the last change
};

TEST_F(FindingWatchTest, ReportsAFaultOnce) {
  EXPECT_THAT(Look(""), IsEmpty());
  EXPECT_THAT(Look(kFlap), ElementsAre("started F"));
  EXPECT_THAT(Look(kFlap), IsEmpty());
}

TEST_F(FindingWatchTest, AnotherPlaceKindOrDirectionIsAnotherFault) {
  Look(kFlap);
  EXPECT_THAT(Look(std::string(kFlap) +
                   "findings { kind: 'flap' place: 'c-d' sentence: 'G' }"
                   "findings { kind: 'gray_loss' place: 'a-b' sentence: 'H' }"
                   "findings { kind: 'flap' place: 'a-b' direction: 'a' sentence: 'I' }"),
              ElementsAre("started G", "started H", "started I"));
}

TEST_F(FindingWatchTest, ReportsItAsResolvedAndExpiresItSilently) {
  Look(kFlap);
  const std::string over =
      "findings { kind: 'flap' place: 'a-b' sentence: 'F was' end_time { nanos: 7 } }";
  EXPECT_THAT(Look(over), ElementsAre("resolved F was"));
  EXPECT_THAT(Look(over), IsEmpty());
  EXPECT_THAT(Look(""), IsEmpty());
  EXPECT_THAT(Look(over), ElementsAre("started F was", "resolved F was"));
}

TEST_F(FindingWatchTest, ReportsThatItCameBack) {
  Look(kFlap);
  Look("findings { kind: 'flap' place: 'a-b' sentence: 'F was' end_time { nanos: 7 } }");
  EXPECT_THAT(Look(kFlap), ElementsAre("started F"));
}

TEST_F(FindingWatchTest, TheLastFindingOfAFaultThatCameBackCounts) {
  const std::string over =
      "findings { kind: 'flap' place: 'a-b' sentence: 'F was' end_time { nanos: 7 } }";
  const std::string again =
      "findings { kind: 'flap' place: 'a-b' sentence: 'F again' end_time { nanos: 9 } }";
  Look(over);
  EXPECT_THAT(Look(kFlap + over), ElementsAre("started F"));
  EXPECT_THAT(Look(kFlap + over), IsEmpty());
  EXPECT_THAT(Look(over + again), ElementsAre("resolved F again"));
  EXPECT_THAT(Look(over + again), IsEmpty());
}

TEST_F(FindingWatchTest, StartsAndEndsAtMostOnceInFiveMinutes) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  const std::string over =
      "findings { kind: 'flap' place: 'a-b' sentence: 'F was' end_time { nanos: 7 } }";
  EXPECT_THAT(Look(kFlap), ElementsAre("started F"));
  EXPECT_THAT(Look(over, minutes(1)), ElementsAre("resolved F was"));
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(Look(kFlap, seconds(20)), IsEmpty());
    EXPECT_THAT(Look(i % 2 == 0 ? over : "", seconds(20)), IsEmpty());
  }
  EXPECT_THAT(Look(kFlap, minutes(2)), ElementsAre("started F"));  // 5 min 40 s after the first
  EXPECT_THAT(Look(over, seconds(70)), ElementsAre("resolved F was"));
  EXPECT_THAT(Look(kFlap, minutes(2)), IsEmpty());
  EXPECT_THAT(Look(kFlap, minutes(2)), ElementsAre("started F"));  // it still holds
  EXPECT_THAT(Look("", minutes(1)), ElementsAre("withdrawn F"));
  EXPECT_THAT(Look(kFlap, seconds(10)), IsEmpty());
}

TEST_F(FindingWatchTest, ForgottenFaultsAreNotWithdrawn) {
  Look(kFlap);
  watch_.Forget();
  EXPECT_THAT(Look(""), IsEmpty());
  EXPECT_THAT(Look(kFlap), ElementsAre("started F"));
}

TEST_F(FindingWatchTest, WithdrawnFaultNamesTheJobsThatItAffected) {
  const std::string jobs = "jobs { job_id: 'a' } jobs { job_id: 'b' } ";
  const auto flap = [](const std::string& fields) {
    return "findings { kind: 'flap' place: 'a-b' sentence: 'F' " + fields + " } ";
  };
  Look(jobs + "jobs { job_id: 'c' } " + flap("affected_job_ids: 'a' affected_job_ids: 'c'"));
  Look(jobs + "jobs { job_id: 'c' } " + flap("affected_job_ids: 'b'"));
  EXPECT_THAT(Look(jobs), ElementsAre("withdrawn F"));
  EXPECT_THAT(affected_, ElementsAre("a", "b")) << "job c no longer exists";
  Look(jobs + flap("affected_job_ids: 'a'"));
  Look(jobs + flap("affected_job_ids: 'a' end_time { nanos: 7 }"));
  EXPECT_THAT(Look(jobs + flap("affected_job_ids: 'b'")), ElementsAre("started F"));
  EXPECT_THAT(Look(jobs), ElementsAre("withdrawn F"));
  EXPECT_THAT(affected_, ElementsAre("b")) << "since it came back";
}

TEST_F(FindingWatchTest, ReportsWithdrawnFaultsBeforeNewOnes) {
  Look(kFlap);
  EXPECT_THAT(Look("findings { kind: 'link_down' place: 'a-b' sentence: 'D' }"),
              ElementsAre("withdrawn F", "started D"));
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/recurrence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;

Timestamp At(int minute) { return Timestamp(minutes(minute)); }

Finding LossFrom(int from, std::optional<int> until, uint32_t link = 3) {
  Finding finding;
  finding.kind = FaultKind::kGrayLoss;
  finding.place = {.kind = PlaceKind::kLink, .index = link};
  finding.from = finding.detected_at = At(from);
  if (until) finding.until = At(*until);
  finding.confidence = 0.9;
  return finding;
}

TEST(Recurrence, ShortPausesDoNotEndAFault) {
  const Findings joined = JoinRecurring({LossFrom(1, 2), LossFrom(7, 8), LossFrom(13, {})});
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].from, At(1));
  EXPECT_EQ(joined[0].detected_at, At(1));
  EXPECT_EQ(joined[0].until, std::nullopt);
  EXPECT_EQ(joined[0].times, 3u);
}

TEST(Recurrence, FindingsThatOverlapAreOneOccurrence) {
  EXPECT_EQ(JoinRecurring({LossFrom(1, 3), LossFrom(2, 4)}).at(0).times, 1u);
  EXPECT_EQ(JoinRecurring({LossFrom(1, 2), LossFrom(2, 4)}).at(0).times, 1u)
      << "no pause between them";
  EXPECT_EQ(JoinRecurring({LossFrom(1, {}), LossFrom(5, 6)}).at(0).times, 1u);
  EXPECT_EQ(JoinRecurring({LossFrom(1, 2), LossFrom(3, 5), LossFrom(4, 6)}).at(0).times, 2u);
}

TEST(Recurrence, LongPausesAndOtherPlacesAndKindsSeparateFaults) {
  Finding other = LossFrom(3, 4);
  other.kind = FaultKind::kBitErrors;
  const Findings faults = {LossFrom(1, 2), LossFrom(2, 3, 4), other, LossFrom(8, 9)};
  EXPECT_EQ(JoinRecurring(faults), faults);
}

TEST(Recurrence, EvidenceIsThatOfTheMostCertainAndJobsAreThoseOfAll) {
  Finding first = LossFrom(1, 2);
  first.evidence = {"many"};
  first.affected_jobs = {1, 4};
  first.exposed_jobs = {2, 5};
  first.symptoms = {{.kind = FaultKind::kIncast}};
  first.detector = "link_loss";
  Finding second = LossFrom(3, 4);
  second.detector = "nic_votes";
  second.confidence = 0.5;
  second.evidence = {"few"};
  second.affected_jobs = {2, 4};
  second.symptoms = {{.kind = FaultKind::kIncast}, {.kind = FaultKind::kFlap}};
  const Findings joined = JoinRecurring({first, second});
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].confidence, 0.9);
  EXPECT_EQ(joined[0].detector, "link_loss");
  EXPECT_THAT(joined[0].evidence, ElementsAre("many"));
  EXPECT_THAT(joined[0].affected_jobs, ElementsAre(1u, 2u, 4u));
  EXPECT_THAT(joined[0].exposed_jobs, ElementsAre(5u)) << "job 2 was affected once";
  EXPECT_EQ(joined[0].symptoms.size(), 2u);
}

}  // namespace
}  // namespace rocescope

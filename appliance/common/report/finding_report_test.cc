// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/job_report.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "rocescope/v1/report.pb.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

v1::Finding ReportOf(const Finding& finding) {
  const Snapshot snapshot{
      .attribution = std::make_shared<const Attribution>(Attribution{.jobs = {AttributedJob{}}}),
      .fabric = std::make_shared<const topology::Fabric>(
          topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value())};
  v1::Finding out;
  FillFinding(snapshot, finding, out);
  return out;
}

TEST(FindingReport, TheActionDependsOnThePersistence) {
  const std::string action(InfoOf(FaultKind::kLinkDown).action);
  Finding finding;
  finding.kind = FaultKind::kLinkDown;
  finding.place.index = 0;
  const v1::Finding permanent = ReportOf(finding);
  EXPECT_EQ(permanent.persistence(), v1::Finding::PERSISTENCE_PERMANENT);
  EXPECT_EQ(permanent.active_count(), 1u);
  EXPECT_EQ(permanent.recommended_action(), action);
  finding.until = Timestamp(std::chrono::seconds(9));
  const v1::Finding single = ReportOf(finding);
  EXPECT_EQ(single.persistence(), v1::Finding::PERSISTENCE_SINGLE);
  EXPECT_EQ(single.recommended_action(), "observe; if it recurs: " + action);
  finding.times = 3;
  EXPECT_EQ(ReportOf(finding).recommended_action(), "schedule a repair: " + action);
  finding.until = {};
  const v1::Finding recurring = ReportOf(finding);
  EXPECT_EQ(recurring.persistence(), v1::Finding::PERSISTENCE_RECURRING);
  EXPECT_EQ(recurring.active_count(), 3u);
}

TEST(FindingReport, TheSeverityDependsOnConfidenceOutageAndAffectedJobs) {
  const auto severity_of = [](FaultKind kind, double confidence,
                              std::vector<uint32_t> affected_jobs = {}) {
    Finding finding;
    finding.kind = kind;
    finding.place.index = 0;
    finding.confidence = confidence;
    finding.affected_jobs = std::move(affected_jobs);
    return ReportOf(finding).severity();
  };
  EXPECT_EQ(severity_of(FaultKind::kLinkDown, 0.8), v1::Finding::SEVERITY_CRITICAL);
  EXPECT_EQ(severity_of(FaultKind::kLinkDown, 0.79), v1::Finding::SEVERITY_WARNING);
  EXPECT_EQ(severity_of(FaultKind::kLinkDown, 0.49), v1::Finding::SEVERITY_INFO);
  EXPECT_EQ(severity_of(FaultKind::kBitErrors, 0.99), v1::Finding::SEVERITY_WARNING);
  EXPECT_EQ(severity_of(FaultKind::kBitErrors, 0.8, {0}), v1::Finding::SEVERITY_CRITICAL);
  EXPECT_EQ(severity_of(FaultKind::kBitErrors, 0.79, {0}), v1::Finding::SEVERITY_WARNING);
}

// No traffic shows a wrong MTU while no large packets arrive.
TEST(FindingReport, MisconfigurationsRemainUntilTheyAreCorrected) {
  Finding finding;
  finding.kind = FaultKind::kMtuMismatch;
  finding.place = {.kind = PlaceKind::kSwitch, .index = 0};
  finding.until = Timestamp(std::chrono::seconds(9));
  EXPECT_EQ(ReportOf(finding).recommended_action(), InfoOf(FaultKind::kMtuMismatch).action);
}

}  // namespace
}  // namespace rocescope

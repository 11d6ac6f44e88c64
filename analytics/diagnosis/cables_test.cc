// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

class CablesTest : public DiagnosisTest {
 protected:
  CableFinding Swap(CableFindingKind kind) const {
    return {.kind = kind,
            .declared = {Link("leaf0", "spine0").index, Link("leaf1", "spine1").index},
            .real = {{Port("leaf0", "spine0"), Port("spine1", "leaf1")}},
            .confidence = 0.98,
            .flows = 14,
            .since = Begin(2)};
  }
  Findings Found() { return DiagnosisTest::Found(DetectCables); }
};

TEST_F(CablesTest, ASwapIsAFaultOfItsFirstLinkAndShowsAtTheOther) {
  cabling_.findings = {Swap(CableFindingKind::kSwapped)};
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwappedCables);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
  EXPECT_EQ(found[0].confidence, 0.98);
  EXPECT_EQ(found[0].from, Begin(2));
  ASSERT_EQ(found[0].symptoms.size(), 1u);
  EXPECT_EQ(found[0].symptoms[0].place, Link("leaf1", "spine1"));
}

TEST_F(CablesTest, ASwapThatHasEndedIsReportedWithItsEnd) {
  CableFinding cable = Swap(CableFindingKind::kSwapped);
  cable.until = Begin(5);
  cabling_.ended = {cable};
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
  EXPECT_EQ(found[0].until, Begin(5));
  cabling_.ended[0].until = Begin(0) - Duration(1);
  EXPECT_TRUE(Found().empty()) << "before the oldest window";
}

TEST_F(CablesTest, CountsFlowsThatToldIfAnyDid) {
  cabling_.findings = {Swap(CableFindingKind::kSwapped)};
  EXPECT_EQ(Found()[0].evidence.back(),
            "14 flows took paths that do not exist with the declared links");
  cabling_.findings[0].flows = 1;
  EXPECT_EQ(Found()[0].evidence.back(),
            "1 flow took paths that do not exist with the declared links");
  cabling_.findings[0].flows = 0;
  EXPECT_EQ(Found()[0].evidence.size(), 1u);
}

TEST_F(CablesTest, ACableThatIsMissingOrDoubtfulIsNoSwap) {
  cabling_.findings = {Swap(CableFindingKind::kMissing), Swap(CableFindingKind::kDisagrees)};
  cabling_.findings[1].flows_against = 1;
  EXPECT_TRUE(Found().empty());
  cabling_.findings[1] = Swap(CableFindingKind::kDisagrees);
  cabling_.findings[1].flows = 0;
  EXPECT_TRUE(Found().empty()) << "by counters only";
  cabling_.findings[1] = Swap(CableFindingKind::kDisagrees);
  cabling_.findings[1].real.clear();
  EXPECT_TRUE(Found().empty());
}

TEST_F(CablesTest, OneCableThatManyFlowsTookProvesASwap) {
  cabling_.findings = {Swap(CableFindingKind::kDisagrees)};
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].place, Link("leaf0", "spine0"));
}

}  // namespace
}  // namespace rocescope

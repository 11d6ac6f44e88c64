// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/plan_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(PlanReportTest, QuantitiesHaveThreeDigits) {
  EXPECT_EQ(BitRate(5'118'000'000), "5.12 Gbit/s");
  EXPECT_EQ(BitRate(999.6e9), "1.00 Tbit/s");
  EXPECT_EQ(BitRate(44'600'000), "44.6 Mbit/s");
  EXPECT_EQ(PacketRate(512), "512 /s");
  EXPECT_EQ(PacketRate(2'990'000), "2.99 M/s");
}

TEST(PlanReportTest, SharesAreNotRoundedToAllOrNothing) {
  EXPECT_EQ(PerCent(1), "100 %");
  EXPECT_EQ(PerCent(0.9999), "99.9 %");
  EXPECT_EQ(PerCent(0.00001), "0.1 %");
  EXPECT_EQ(PerCent(0), "0 %");
  EXPECT_EQ(PerCent(0.125), "12.5 %");
  EXPECT_EQ(PerCent(3.825), "382.5 %");
}

TEST(PlanReportTest, TextHasTheAnswerFirst) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.utilisation = 0.001;  // 0.95 million packets/s
  const Plan plan = *MakePlan(LeafSpine(), options);
  const std::string text = *PlanText(LeafSpine(), plan, true);
  EXPECT_THAT(text, StartsWith("MIRRORS: nics-both (ports to NICs, ingress and egress): "
                               "128 ports of leaf[0-7] in 8 sessions;"));
  EXPECT_THAT(text, HasSubstr("a full packet of 4154 bytes gives a copy of 190"));
  EXPECT_THAT(text, HasSubstr("  >  nics-both "));
  EXPECT_THAT(text, HasSubstr("    mirrors:\n"));
  EXPECT_THAT(*PlanText(LeafSpine(), plan, false), Not(HasSubstr("mirrors:\n")));
}

TEST(PlanReportTest, TextHasWarningsBeforeTheAnswer) {
  const Plan plan = *MakePlan(LeafSpine(), CollectorsOf(1'000 * kGigabit));
  const std::string text = *PlanText(LeafSpine(), plan, true);
  EXPECT_THAT(text, StartsWith("WARNINGS\n\n  - 358 cores are needed to receive 476 million"));
  EXPECT_THAT(text, HasSubstr("\n\nMIRRORS: nics-both ("));
}

TEST(PlanReportTest, TextStatesTheMachine) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.utilisation = 0.001;
  const std::string need = "  cores: 3 (1 to receive, one for each 2,000,000 packets/s with a";
  EXPECT_THAT(*PlanText(LeafSpine(), *MakePlan(LeafSpine(), options), true),
              AllOf(HasSubstr(need), HasSubstr("not compared with a machine")));
  options.cores = 4;
  options.memory = uint64_t{64} << 30;
  EXPECT_THAT(*PlanText(LeafSpine(), *MakePlan(LeafSpine(), options), true),
              AllOf(HasSubstr(need), HasSubstr("fits the machine: 4 cores, 68.7 GB of memory")));
}

TEST(PlanReportTest, TextSaysWhereNothingFits) {
  const Plan plan = *MakePlan(LeafSpine(), CollectorsOf(kGigabit));
  const std::string text = *PlanText(LeafSpine(), plan, true);
  EXPECT_THAT(text, StartsWith("WARNINGS\n\n  - No choice fits"));
  EXPECT_THAT(text, HasSubstr("\n\nMIRRORS: none; no choice fits\n"));
  EXPECT_THAT(text, HasSubstr("0 % of NICs"));
}

TEST(PlanReportTest, JsonHasAllOfIt) {
  PlanOptions options = CollectorsOf(100 * kGigabit, 2);
  options.vendor = Vendor::kNxos;
  const auto json = nlohmann::json::parse(*PlanJson(LeafSpine(), *MakePlan(LeafSpine(), options)));

  EXPECT_EQ(json["vendor"], "nxos");
  EXPECT_EQ(json["choices"].size(), kChoiceCount);
  EXPECT_EQ(json["sessions"].size(), 8u);
  EXPECT_EQ(json["sessions"][0]["switch"], "leaf0");
  EXPECT_EQ(json["collectors"][1]["speed_bits_per_second"], "100000000000");
  EXPECT_EQ(json["switch_configs"].size(), 24u);
  EXPECT_EQ(json["switch_rollbacks"].size(), 24u);
  EXPECT_EQ(json["machine"]["cores"], json["machine"]["receive_cores"].get<int>() + 2);
  EXPECT_EQ(json["machine"]["receive_cores"],
            json["collectors"][0]["cores"].get<int>() + json["collectors"][1]["cores"].get<int>());
  EXPECT_FALSE(json["machine"].contains("fits"));
  EXPECT_FALSE(json["warnings"].empty());
  EXPECT_EQ(json["sflow"]["left_out_as_mirroring"].size(), 8u);
  EXPECT_THAT(json["mirrors_yaml"].get<std::string>(), StartsWith("mirrors:\n"));
}

}  // namespace
}  // namespace rocescope::plan

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/scrape/metric_rules.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

std::optional<CounterRecord> Read(const std::string& line, const std::string& node = "",
                                  const std::vector<MetricRule>& rules = {}) {
  std::optional<CounterRecord> record;
  ParsePrometheusText(line, [&](const PrometheusSample& sample) {
    record = MetricRules(rules).Read(sample, node);
  });
  return record;
}

TEST(MetricRules, KnowOurOwnNames) {
  const auto record =
      Read("fabric_port_pfc_rx_time{node=\"leaf0\",port=\"Ethernet4\",priority=\"3\"} 1500\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->entity,
            (CounterEntity{
                .kind = EntityKind::kPort, .priority = 3, .node = "leaf0", .port = "Ethernet4"}));
  EXPECT_EQ(record->metric, Metric::kPfcRxTime);
  EXPECT_EQ(record->value, 1500u);
}

// The line is dcgm-exporter's documentation's.
TEST(MetricRules, KnowDcgmExporters) {
  const auto record =
      Read("DCGM_FI_DEV_SM_CLOCK{gpu=\"3\", UUID=\"GPU-604ac76c\",Hostname=\"gpu-7\"} 139\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->entity, (CounterEntity{.kind = EntityKind::kGpu, .index = 3, .node = "gpu-7"}));
  EXPECT_EQ(record->metric, Metric::kGpuClock);
  EXPECT_EQ(record->value, 139'000'000u) << "MHz there, Hz here";
}

TEST(MetricRules, AreThoseOfTheConfigurationFirst) {
  const MetricRule rule = {.from = "pfc_seconds",
                           .metric = Metric::kPfcRxTime,
                           .node = "switch",
                           .port = "ifname",
                           .priority = "tc",
                           .scale = 1'000'000'000};
  const auto record =
      Read("pfc_seconds{switch=\"s1\",ifname=\"Eth1\",tc=\"4\"} 0.25\n", "", {rule});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->value, 250'000'000u);
  EXPECT_EQ(record->entity.node, "s1");
  EXPECT_EQ(record->entity.priority, 4);
}

TEST(MetricRules, TheTargetsNodeIsMeantWhereNoLabelNamesOne) {
  EXPECT_EQ(Read("fabric_nic_tx_bytes{port=\"mlx5_0\"} 1\n", "host3")->entity.node, "host3");
  EXPECT_FALSE(Read("fabric_nic_tx_bytes{port=\"mlx5_0\"} 1\n"));
}

TEST(MetricRules, ReadNothingIntoWhatIsNoCounterOfOurs) {
  for (const char* line : {"up 1\n",
                           "fabric_port_tx_bytes{node=\"leaf0\"} 1\n",    // of which port?
                           "fabric_gpu_temperature{node=\"host0\"} 1\n",  // of which GPU?
                           "fabric_gpu_temperature{node=\"host0\",gpu=\"x\"} 1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\",priority=\"8\"} 1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} -1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} NaN\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} +Inf\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} 1e30\n"}) {
    EXPECT_FALSE(Read(line)) << line;
  }
}

}  // namespace
}  // namespace rocescope

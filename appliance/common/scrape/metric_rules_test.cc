// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/metric_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

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

TEST(MetricRules, MapFabricMetrics) {
  const auto record =
      Read("fabric_port_pfc_rx_time{node=\"leaf0\",port=\"Ethernet4\",priority=\"3\"} 1500\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->entity,
            (CounterEntity{
                .kind = EntityKind::kPort, .priority = 3, .node = "leaf0", .port = "Ethernet4"}));
  EXPECT_EQ(record->metric, Metric::kPfcRxTime);
  EXPECT_EQ(record->value, 1500u);
}

// The line is from dcgm-exporter's documentation.
TEST(MetricRules, MapDcgmExporterMetrics) {
  const auto record =
      Read("DCGM_FI_DEV_SM_CLOCK{gpu=\"3\", UUID=\"GPU-604ac76c\",Hostname=\"gpu-7\"} 139\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->entity, (CounterEntity{.kind = EntityKind::kGpu, .index = 3, .node = "gpu-7"}));
  EXPECT_EQ(record->metric, Metric::kGpuClock);
  EXPECT_EQ(record->value, 139'000'000u) << "converted from MHz to Hz";
}

TEST(MetricRules, PreferConfiguredRules) {
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

// A response of snmp_exporter for module if_mib: names from IF-MIB (RFC 2863), labels from its
// lookups, port and alias of a SONiC switch.
constexpr const char* kSnmpExporter = R"(# HELP ifHCInOctets The total number of bytes received
# TYPE ifHCInOctets counter
ifHCInOctets{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 1.310822e+07
ifHCInOctets{ifAlias="",ifDescr="eth0",ifIndex="10000",ifName="eth0"} 0
# TYPE ifHCOutOctets counter
ifHCOutOctets{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 9.007199254740991e+15
# TYPE ifHCInUcastPkts counter
ifHCInUcastPkts{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 9001
# TYPE ifHighSpeed gauge
ifHighSpeed{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 400000
# TYPE ifInErrors counter
ifInErrors{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 3
ifOutErrors{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 4
ifInDiscards{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 5
ifOutDiscards{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 6
# TYPE ifOperStatus gauge
ifOperStatus{ifAlias="to spine0",ifDescr="etp1",ifIndex="1",ifName="etp1"} 1
# TYPE snmp_scrape_duration_seconds gauge
snmp_scrape_duration_seconds{module="if_mib"} 0.21
# TYPE sysUpTime gauge
sysUpTime 1.2345e+07
)";

TEST(MetricRules, OfTheExampleMapSnmpExporterMetrics) {
  const Result<ApplianceConfig> config =
      LoadConfig(ROCESCOPE_SOURCE_FOLDER "/testbeds/snmp.yaml", Pipes::kRead);
  ASSERT_TRUE(config) << config.error().message;
  const ScrapeTarget& target = config->scrape.targets.at(0);
  const MetricRules rules(config->scrape.rules);
  std::map<std::pair<std::string, std::string>, uint64_t> read;
  ParsePrometheusText(kSnmpExporter, [&](const PrometheusSample& sample) {
    if (const auto record = rules.Read(sample, target.node)) {
      EXPECT_EQ(record->entity.kind, EntityKind::kPort);
      EXPECT_EQ(record->entity.node, "leaf0");
      read[{record->entity.port, std::string(InfoOf(record->metric).name)}] = record->value;
    }
  });
  const std::map<std::pair<std::string, std::string>, uint64_t> expected = {
      {{"etp1", "rx_bytes"}, 13'108'220},
      {{"eth0", "rx_bytes"}, 0},
      {{"etp1", "tx_bytes"}, 9'007'199'254'740'991},
      {{"etp1", "link_speed"}, 400'000'000'000},
      {{"etp1", "rx_errors"}, 3},
      {{"etp1", "tx_errors"}, 4},
      {{"etp1", "rx_discards"}, 5},
      {{"etp1", "tx_discards"}, 6}};
  EXPECT_EQ(read, expected);
}

TEST(MetricRules, UseTheTargetsNodeWithoutANodeLabel) {
  EXPECT_EQ(Read("fabric_nic_tx_bytes{port=\"mlx5_0\"} 1\n", "host3")->entity.node, "host3");
  EXPECT_FALSE(Read("fabric_nic_tx_bytes{port=\"mlx5_0\"} 1\n"));
}

TEST(MetricRules, IgnoreUnknownMetrics) {
  for (const char* line : {"up 1\n",
                           "fabric_port_tx_bytes{node=\"leaf0\"} 1\n",    // no port
                           "fabric_gpu_temperature{node=\"host0\"} 1\n",  // no GPU
                           "fabric_gpu_temperature{node=\"host0\",gpu=\"x\"} 1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\",priority=\"8\"} 1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} -1\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} NaN\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} +Inf\n",
                           "fabric_port_tx_bytes{node=\"a\",port=\"b\"} 1e30\n"}) {
    EXPECT_FALSE(Read(line)) << line;
  }
}

TEST(MetricRules, IgnoreEntitiesWithLongNames) {
  const auto read = [](const std::string& node, const std::string& port) {
    return Read(fmt::format("fabric_port_tx_bytes{{node=\"{}\",port=\"{}\"}} 1\n", node, port))
        .has_value();
  };
  const std::string longest(128, 'x');
  EXPECT_TRUE(read(longest, longest));
  EXPECT_FALSE(read(longest + "x", "Ethernet1"));
  EXPECT_FALSE(read("leaf0", longest + "x"));
}

}  // namespace
}  // namespace rocescope

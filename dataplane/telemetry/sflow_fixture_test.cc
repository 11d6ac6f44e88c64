// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of real agents, compared with the output of Telegraf's sFlow input (goflow2) for the
// same bytes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dataplane/decode/decode.h"
#include "dataplane/telemetry/telemetry_reader.h"
#include "tests/support/fixtures.h"

namespace rocescope::test {
namespace {

constexpr const char* kCases = "sflow/telegraf/plugins/inputs/netflow/testcases/";

// The fields of each line of Telegraf's output; numbers without the "u" suffix.
std::vector<std::map<std::string, std::string>> Expected(const std::string& name) {
  std::ifstream file(*Fixture(kCases + name + "/expected.out"));
  std::vector<std::map<std::string, std::string>> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    std::map<std::string, std::string>& fields = lines.emplace_back();
    const size_t begin = line.find(' ') + 1;
    std::string_view rest = std::string_view(line).substr(begin, line.rfind(' ') - begin);
    while (!rest.empty()) {
      const std::string_view field = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), field.size() + 1));
      const size_t equals = field.find('=');
      std::string value(field.substr(equals + 1));
      if (value.ends_with('u')) value.pop_back();
      fields.emplace(field.substr(0, equals), value);
    }
  }
  return lines;
}

class SflowFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (!Fixture("sflow")) GTEST_SKIP() << "no fixtures at " << FixtureFolder();
  }
  void Read(const std::string& path) {
    std::ifstream file(*Fixture(path), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    DecodedFrame frame{};
    frame.kind = FrameKind::kSflow;
    frame.telemetry = bytes_;
    reader_.Take(frame, 0, FromNanoseconds(1'700'000'000'000'000'000), out_);
  }
  std::string Value(Metric metric) const {
    for (const CounterRecord& record : out_.counters) {
      if (record.metric == metric) return std::to_string(record.value);
    }
    return "";
  }
  // Feeds every frame of a capture through decoder and reader.
  void ReadCapture(const std::string& path) {
    for (const CapturedFrame& captured : ReadPcap(*Fixture(path))) {
      DecodedFrame frame;
      ASSERT_EQ(DecodeFrame({.bytes = captured.bytes}, frame), DropReason::kNone);
      reader_.Take(frame, 0, FromNanoseconds(captured.time_ns), out_);
    }
  }

  std::vector<uint8_t> bytes_;
  TelemetryReader reader_{{}};
  RecordBatch out_;
};

TEST_F(SflowFixture, CountersMatchTelegraf) {
  for (const auto& [name, file] : {std::pair("sflow_issue_15918", "message.bin"),
                                   std::pair("sflow_issue_18876", "message.bin"),
                                   std::pair("sflow_v5_example", "sflow_v5.bin")}) {
    SCOPED_TRACE(name);
    out_.Clear();
    Read(std::string(kCases) + name + "/" + file);
    auto expected = Expected(name).at(0);
    EXPECT_EQ(Value(Metric::kRxBytes), expected["in_bytes"]);
    EXPECT_EQ(Value(Metric::kTxBytes), expected["out_bytes"]);
    EXPECT_EQ(Value(Metric::kRxErrors), expected["in_errors"]);
    EXPECT_EQ(Value(Metric::kTxDiscards), expected["out_dropped_packets"]);
    EXPECT_EQ(Value(Metric::kLinkSpeed), expected["speed"]);
    EXPECT_EQ(Value(Metric::kLinkUp) == "1", expected["status"] == "\"up\"");
    EXPECT_EQ(Value(Metric::kFcsErrors), expected["errors_fcs"]);
    ASSERT_FALSE(out_.counters.empty());
    EXPECT_EQ(std::to_string(out_.counters[0].entity.index), expected["interface"]);
    EXPECT_EQ('"' + ToString(out_.counters[0].entity.agent) + '"', expected["agent_ip"]);
  }
}

TEST_F(SflowFixture, FlowSamplesMatchTelegraf) {
  Read(std::string(kCases) + "sflow_issue_15918/message.bin");
  auto expected = Expected("sflow_issue_15918");
  expected.erase(expected.begin());  // removes the counters
  ASSERT_EQ(out_.samples.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const SampleRecord& sample = out_.samples[i];
    // For a sample taken on egress, Telegraf calls that port the input.
    EXPECT_EQ(std::to_string(sample.source_index), expected[i]["in_snmp"]);
    const std::string output = expected[i].contains("out_snmp") ? expected[i]["out_snmp"] : "0";
    EXPECT_EQ(std::to_string(sample.output_port), output);
    EXPECT_EQ(std::to_string(sample.sampling_rate), expected[i]["sampling_interval"]);
    EXPECT_EQ(std::to_string(sample.frame_length + 4), expected[i]["l2_bytes"]);
    EXPECT_EQ(std::to_string(sample.vlan), expected[i]["vlan_src"]);
    EXPECT_FALSE(sample.packet.known) << "none of it is RoCE";
  }
}

TEST_F(SflowFixture, DiscardedPacketsMatchTelegraf) {
  Read(std::string(kCases) + "sflow_issue_15375/sflow_drop_1036.bin");
  auto expected = Expected("sflow_issue_15375").at(0);
  ASSERT_EQ(out_.samples.size(), 1u);
  EXPECT_TRUE(out_.samples[0].discarded);
  EXPECT_EQ(std::to_string(out_.samples[0].input_port), expected["in_snmp"]);
  EXPECT_EQ(std::to_string(out_.samples[0].output_port), expected["out_snmp"]);
  EXPECT_EQ(std::to_string(out_.samples[0].queue_id), expected["out_queue"]);
  EXPECT_EQ(std::to_string(out_.samples[0].discard_reason), expected["reason"]);
}

// goflow2 and vFlow use these datagrams in their own tests and read all of them. One of vFlow's has
// additional bytes between the last record and the end of its sample.
TEST_F(SflowFixture, ReadsEveryDatagramThatOtherCollectorsRead) {
  for (const char* path : {"sflow/goflow2/all.pcap", "sflow/vflow/all.pcap"}) {
    SCOPED_TRACE(path);
    reader_ = TelemetryReader({});
    ReadCapture(path);
    const TelemetryCounters& counters = reader_.counters();
    EXPECT_GT(counters.sflow_datagrams.received, 0u);
    EXPECT_EQ(counters.sflow_datagrams.decoded, counters.sflow_datagrams.received);
    EXPECT_EQ(counters.samples.decoded, counters.samples.received);
  }
}

// gopacket does not check the lengths of samples. In three of its test vectors with one sample
// each, the length is inconsistent with the records: 52 bytes with 56 bytes of records in frame 5,
// 52 with 68 in frame 8, and 116 in a datagram that ends after 76 in frame 11.
TEST_F(SflowFixture, DropsSamplesWithWrongLengths) {
  ReadCapture("sflow/gopacket/all.pcap");
  const TelemetryCounters& counters = reader_.counters();
  EXPECT_EQ(counters.sflow_datagrams.received, 14u);
  EXPECT_EQ(counters.sflow_datagrams.decoded, 13u);
  EXPECT_EQ(counters.samples.received, 28u);
  EXPECT_EQ(counters.samples.decoded, 25u);
  EXPECT_EQ(counters.samples.dropped[static_cast<size_t>(DropReason::kBadSflow)], 3u);
}

TEST_F(SflowFixture, DropsDatagramsThatCrashedTcpdump) {
  ReadCapture("sflow/tcpdump-malformed.pcap");
  EXPECT_EQ(reader_.counters().sflow_datagrams.received, 1u);
  EXPECT_TRUE(reader_.counters().sflow_datagrams.Balances());
  EXPECT_TRUE(reader_.counters().samples.Balances());
}

}  // namespace
}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "dataplane/telemetry/telemetry_reader.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

constexpr Timestamp kArrival = FromNanoseconds(1'700'000'000'000'000'000);

class SflowReaderTest : public testing::Test {
 protected:
  wire::SflowWriter Begin(uint32_t sequence = 1) {
    return {room_, {.agent = *ParseIpAddress("192.0.2.7"), .sub_agent = 1, .sequence = sequence}};
  }
  void Take(std::span<const uint8_t> datagram, bool cut = false) {
    DecodedFrame frame{};
    frame.kind = FrameKind::kSflow;
    frame.cut = cut;
    frame.telemetry = datagram;
    reader_.Take(frame, 4, kArrival, out_);
    EXPECT_TRUE(counters().samples.Balances());
    EXPECT_TRUE(counters().sflow_datagrams.Balances());
  }
  const TelemetryCounters& counters() const { return reader_.counters(); }
  uint64_t SamplesDropped(DropReason reason) const {
    return counters().samples.dropped[static_cast<size_t>(reason)];
  }
  uint64_t DatagramsDropped(DropReason reason) const {
    return counters().sflow_datagrams.dropped[static_cast<size_t>(reason)];
  }
  // The value of a metric in the records. Fails the test unless it occurs exactly once.
  uint64_t Value(Metric metric, EntityKind kind = EntityKind::kPort) const {
    uint64_t value = 0;
    int found = 0;
    for (const CounterRecord& record : out_.counters) {
      if (record.metric != metric || record.entity.kind != kind) continue;
      value = record.value;
      ++found;
    }
    EXPECT_EQ(found, 1) << InfoOf(metric).name;
    return value;
  }

  Bytes room_ = Bytes(2048);
  Bytes packet_ = RoceFrame("10.0.0.1", "10.0.0.2", {.ttl = 62})
                      .Bth({.opcode = 0x07, .destination_qpn = {17}, .psn = 77})
                      .Payload(1024)
                      .Snap(128)
                      .Build();
  wire::SflowSampledHeader header_ = {.frame_length = 1106, .stripped = 4, .bytes = packet_};
  TelemetryReader reader_{{}};
  RecordBatch out_;
};

TEST_F(SflowReaderTest, FlowSampleYieldsPacketAndPorts) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{.source = {.index = 33},
                                                                   .sampling_rate = 4096,
                                                                   .input = {.value = 33},
                                                                   .output = {.value = 44}});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  writer.AddRecord(wire::kSflowExtendedSwitch, wire::SflowSwitchRecord{.source_vlan = 12});
  writer.AddRecord(wire::kSflowEgressQueue, wire::SflowWordRecord{.value = 3});
  writer.AddRecord(wire::kSflowQueueDepth, wire::SflowWordRecord{.value = 65'536});
  writer.AddRecord(wire::kSflowTransitDelay, wire::SflowWordRecord{.value = 2200});
  writer.AddRecord(wire::kSflowExtendedRouter, wire::SflowRouterRecord{});
  Take(writer.Finish());
  ASSERT_EQ(out_.samples.size(), 1u);
  const SampleRecord& sample = out_.samples[0];
  EXPECT_EQ(sample.tap, 4u);
  EXPECT_EQ(sample.agent, *ParseIpAddress("192.0.2.7"));
  EXPECT_EQ(sample.source_index, 33u);
  EXPECT_EQ(sample.input_port, 33u);
  EXPECT_EQ(sample.output_port, 44u);
  EXPECT_EQ(sample.sampling_rate, 4096u);
  EXPECT_TRUE(sample.packet.known);
  EXPECT_EQ(sample.packet.flow.destination_qpn, Qpn{17});
  EXPECT_EQ(sample.packet.opcode, 0x07);
  EXPECT_EQ(sample.packet.psn, 77u);
  EXPECT_EQ(sample.packet.ttl, 62u);
  EXPECT_EQ(sample.frame_length, 1102u) << "without FCS";
  EXPECT_EQ(sample.vlan, 12u);
  EXPECT_EQ(sample.queue_id, 3u);
  EXPECT_EQ(sample.queue_depth, 65'536u);
  EXPECT_EQ(sample.transit_delay_ns, 2200u);
  EXPECT_TRUE(sample.has_queue && sample.has_queue_depth && sample.has_transit_delay);
  EXPECT_FALSE(sample.discarded);
  EXPECT_EQ(sample.event_time, kArrival);
  EXPECT_EQ(counters().samples.decoded, 1u);
  EXPECT_EQ(counters().records_skipped, 1u) << "the router record";
}

TEST_F(SflowReaderTest, DiscardedPacketHasReason) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowDiscardedPacket,
                     wire::SflowDiscardedPacket{.source = {.index = 5},
                                                .input = 5,
                                                .output = 6,
                                                .reason = wire::kSflowDropNoBufferSpace});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  // The older representation of a discard: the format of the output interface.
  writer.BeginSample(
      wire::kSflowExpandedFlowSample,
      wire::SflowFlowSample{
          .expanded = true, .input = {.value = 5}, .output = {.format = 1, .value = 258}});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  Take(writer.Finish());
  ASSERT_EQ(out_.samples.size(), 2u);
  EXPECT_TRUE(out_.samples[0].discarded);
  EXPECT_EQ(out_.samples[0].discard_reason, 259u);
  EXPECT_EQ(out_.samples[0].output_port, 6u);
  EXPECT_EQ(out_.samples[0].packet.psn, 77u);
  EXPECT_TRUE(out_.samples[1].discarded);
  EXPECT_EQ(out_.samples[1].discard_reason, 258u);
  EXPECT_EQ(out_.samples[1].output_port, 0u);
}

TEST_F(SflowReaderTest, InterfaceCountersBelongToAgentPorts) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowCounterSample, wire::SflowCounterSample{.source = {.index = 9}});
  writer.AddRecord(wire::kSflowInterfaceCounters,
                   wire::SflowInterfaceRecord{.index = 9,
                                              .speed = 400'000'000'000,
                                              .status = 1,
                                              .in_octets = 1ull << 41,
                                              .in_unicast = 1000,
                                              .in_multicast = UINT32_MAX,
                                              .in_broadcast = 2,
                                              .out_octets = 7,
                                              .out_discards = 3,
                                              .out_errors = UINT32_MAX});
  writer.AddRecord(wire::kSflowEthernetCounters, wire::SflowEthernetRecord{.fcs_errors = 6});
  Take(writer.Finish());
  EXPECT_EQ(Value(Metric::kLinkSpeed), 400'000'000'000u);
  EXPECT_EQ(Value(Metric::kLinkUp), 0u) << "administratively up, operationally down";
  EXPECT_EQ(Value(Metric::kAdminUp), 1u);
  EXPECT_EQ(Value(Metric::kRxBytes), 1ull << 41);
  EXPECT_EQ(Value(Metric::kRxPackets), 1002u) << "the multicast counter is unknown";
  EXPECT_EQ(Value(Metric::kTxDiscards), 3u);
  EXPECT_EQ(Value(Metric::kFcsErrors), 6u);
  for (const CounterRecord& record : out_.counters) {
    EXPECT_EQ(record.entity.agent, *ParseIpAddress("192.0.2.7"));
    EXPECT_EQ(record.entity.index, 9u);
    EXPECT_EQ(record.bits,
              record.metric == Metric::kFcsErrors || record.metric == Metric::kTxDiscards ||
                      record.metric == Metric::kRxDiscards || record.metric == Metric::kRxErrors ||
                      record.metric == Metric::kRxPackets || record.metric == Metric::kTxPackets ||
                      record.metric == Metric::kSymbolErrors
                  ? 32
                  : 64)
        << InfoOf(record.metric).name;
    EXPECT_NE(record.metric, Metric::kTxErrors) << "all ones: not counted";
  }
}

TEST_F(SflowReaderTest, HostAndGpuCountersHaveHostName) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowCounterSample, wire::SflowCounterSample{.source = {.index = 1}});
  writer.AddRecord(
      wire::kSflowGpu,
      wire::SflowGpuRecord{
          .devices = 8, .busy_ms = 9000, .memory_total = 8ull * 80 << 30, .energy_mj = 77});
  writer.AddRecord(wire::kSflowHostCpu,
                   wire::SflowCpuRecord{.user_ms = 10, .system_ms = 5, .idle_ms = 85});
  writer.AddRecord(wire::kSflowHostMemory, wire::SflowMemoryRecord{.total = 1ull << 40});
  writer.AddRecord(wire::kSflowHostNetwork, wire::SflowNetworkRecord{.in_octets = 1ull << 33});
  writer.AddRecord(wire::kSflowHostDescription, wire::SflowHostRecord{.name = "gpu-7"});
  Take(writer.Finish());
  EXPECT_EQ(Value(Metric::kGpuCount, EntityKind::kGpu), 8u);
  EXPECT_EQ(Value(Metric::kGpuBusy, EntityKind::kGpu), 9000u);
  EXPECT_EQ(Value(Metric::kMemoryTotal, EntityKind::kGpu), 687'194'767'360u);
  EXPECT_EQ(Value(Metric::kCpuBusy, EntityKind::kHost), 15u);
  EXPECT_EQ(Value(Metric::kMemoryTotal, EntityKind::kHost), 1ull << 40);
  EXPECT_EQ(Value(Metric::kRxBytes, EntityKind::kHost), 1ull << 33);
  for (const CounterRecord& record : out_.counters) {
    EXPECT_EQ(record.entity.node, "gpu-7");
    EXPECT_EQ(record.entity.index, CounterEntity::kNoIndex);
  }
  EXPECT_EQ(counters().counter_records, out_.counters.size());
}

TEST_F(SflowReaderTest, UnknownSamplesAndRecordsAreSkippedByTheirLength) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::SflowTag(4300, 1002), wire::SflowCounterSample{});
  writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{});
  writer.AddRecord(wire::SflowTag(4413, 1), wire::SflowRouterRecord{});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  Take(writer.Finish());
  EXPECT_EQ(SamplesDropped(DropReason::kUnknownSample), 1u);
  EXPECT_EQ(counters().records_skipped, 1u);
  ASSERT_EQ(out_.samples.size(), 1u);
  EXPECT_EQ(out_.samples[0].packet.psn, 77u);
  EXPECT_EQ(counters().sflow_datagrams.decoded, 1u);
}

TEST_F(SflowReaderTest, SamplesBeforeTruncationAreUsed) {
  wire::SflowWriter writer = Begin();
  for (int i = 0; i < 3; ++i) {
    writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{});
    writer.AddRecord(wire::kSflowSampledHeader, header_);
  }
  const std::span<const uint8_t> whole = writer.Finish();
  Take(whole.first(whole.size() - 1), true);
  EXPECT_EQ(out_.samples.size(), 2u);
  EXPECT_EQ(SamplesDropped(DropReason::kTruncatedTelemetry), 1u);
  EXPECT_EQ(DatagramsDropped(DropReason::kTruncatedTelemetry), 1u);
  for (size_t size = 0; size < whole.size(); ++size) Take(whole.first(size));
  EXPECT_EQ(DatagramsDropped(DropReason::kBadSflow), whole.size()) << "not truncated";
}

TEST_F(SflowReaderTest, SampleWithOversizedRecordsIsDropped) {
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{});
  writer.AddRecord(wire::kSflowQueueDepth, wire::SflowWordRecord{});
  const size_t end = writer.size();
  writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  const std::span<const uint8_t> bytes = writer.Finish();
  Bytes datagram(bytes.begin(), bytes.end());
  datagram[end - 5] = 200;  // length of the record
  Take(datagram);
  EXPECT_EQ(SamplesDropped(DropReason::kBadSflow), 1u);
  EXPECT_EQ(out_.samples.size(), 1u);
  EXPECT_EQ(counters().sflow_datagrams.decoded, 1u);
}

TEST_F(SflowReaderTest, OtherVersionsAreDropped) {
  wire::SflowWriter writer = Begin();
  const std::span<const uint8_t> bytes = writer.Finish();
  Bytes datagram(bytes.begin(), bytes.end());
  datagram[3] = 4;
  Take(datagram);
  EXPECT_EQ(DatagramsDropped(DropReason::kBadSflow), 1u);
  EXPECT_TRUE(reader_.Sources().empty());
}

TEST_F(SflowReaderTest, SequenceGapsAreLostDatagrams) {
  for (const uint32_t sequence : {5u, 6u, 9u}) Take(Begin(sequence).Finish());
  ASSERT_EQ(reader_.Sources().size(), 1u);
  EXPECT_TRUE(reader_.Sources()[0].is_sflow);
  EXPECT_EQ(reader_.Sources()[0].datagrams, 3u);
  EXPECT_EQ(reader_.Sources()[0].lost, 2u);
}

TEST_F(SflowReaderTest, FiltersKeepMatchingSamplesAndAllCounters) {
  TelemetryReader::Options options;
  options.filter.hosts = {*ParseIpAddress("10.0.0.9")};
  reader_ = TelemetryReader(options);
  wire::SflowWriter writer = Begin();
  writer.BeginSample(wire::kSflowFlowSample, wire::SflowFlowSample{});
  writer.AddRecord(wire::kSflowSampledHeader, header_);
  writer.BeginSample(wire::kSflowCounterSample, wire::SflowCounterSample{});
  writer.AddRecord(wire::kSflowEthernetCounters, wire::SflowEthernetRecord{});
  Take(writer.Finish());
  EXPECT_EQ(counters().samples.filtered, 1u);
  EXPECT_EQ(counters().samples.decoded, 1u);
  EXPECT_TRUE(out_.samples.empty());
  EXPECT_EQ(out_.counters.size(), 2u);
}

}  // namespace
}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/telemetry_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "appliance/common/report/frame_json.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

using Json = nlohmann::json;

Bytes Packet() {
  return RoceFrame("10.0.0.1", "10.0.0.2")
      .Bth({.opcode = 0x07, .destination_qpn = {17}, .psn = 77})
      .Payload(1024)
      .Snap(96)
      .Build();
}

Json LineOf(uint16_t port, std::span<const uint8_t> payload, size_t snap = SIZE_MAX) {
  const Bytes bytes = Frame()
                          .Eth()
                          .Ipv4("192.0.2.1", "192.0.2.100")
                          .Udp(50000, port)
                          .Payload(payload)
                          .Snap(snap)
                          .Build();
  const RawFrame raw = {.bytes = bytes};
  DecodedFrame decoded{};
  const DropReason drop = DecodeFrame(raw, decoded);
  fmt::memory_buffer out;
  AppendFrameJson(out, {.number = 1, .tap = "int", .raw = raw, .drop = drop, .decoded = decoded});
  return Json::parse(out.data(), out.data() + out.size());
}

Bytes ReportOf(const wire::IntReport& report) {
  Bytes room(512);
  wire::ByteWriter out(room);
  Write(out, wire::IntReportGroupHeader{.hardware_id = 2, .sequence = 5, .node_id = 1001});
  WriteIntReport(out, report);
  room.resize(out.offset());
  return room;
}

wire::IntReport Postcard(const Bytes& packet) {
  wire::IntReport report;
  report.header = {.inner_type = wire::kIntInnerEthernet, .congested = true};
  report.main.metadata_bits = wire::kIntPorts | wire::kIntQueue | wire::kIntEgressTimestamp;
  report.metadata = {.present = report.main.metadata_bits,
                     .ingress_port = 7,
                     .egress_port = 9,
                     .queue_id = 3,
                     .queue_occupancy = 4096,
                     .egress_timestamp = 1'750'000'000'000'000'001};
  report.inner = packet;
  return report;
}

TEST(TelemetryJson, PrintsAReportFieldByField) {
  const Bytes packet = Packet();
  const Json line = LineOf(32766, ReportOf(Postcard(packet)));
  EXPECT_EQ(line["src_ip"], "192.0.2.1");
  const Json& told = line["int"];
  EXPECT_EQ(told["node_id"], 1001);
  EXPECT_EQ(told["hw_id"], 2);
  EXPECT_EQ(told["sequence"], 5);
  ASSERT_EQ(told["reports"].size(), 1u);
  const Json& report = told["reports"][0];
  EXPECT_EQ(report["type"], 1);
  EXPECT_EQ(report["inner_type"], 3);
  EXPECT_EQ(report["congested"], true);
  EXPECT_EQ(report["dropped"], false);
  EXPECT_EQ(report["md_bits"], 0x5400);
  EXPECT_EQ(report["ingress_port"], 7);
  EXPECT_EQ(report["queue_occupancy"], 4096);
  EXPECT_EQ(report["egress_ts"], "1750000000000000001");
  EXPECT_FALSE(report.contains("hop_latency"));
  EXPECT_EQ(report["packet"]["src_ip"], "10.0.0.1");
  EXPECT_EQ(report["packet"]["dest_qp"], 17);
  EXPECT_EQ(report["packet"]["psn"], 77);
}

TEST(TelemetryJson, ReportsTruncation) {
  const Bytes packet = Packet();
  const Bytes bytes = ReportOf(Postcard(packet));
  EXPECT_EQ(LineOf(32766, bytes, 100)["int"]["reports"][0]["error"], "truncated_telemetry");
  EXPECT_EQ(LineOf(32766, std::span(bytes).first(3))["int"]["error"], "bad_int");
}

TEST(TelemetryJson, PrintsSflowFieldByField) {
  const Bytes packet = Packet();
  Bytes room(1024);
  wire::SflowWriter writer(room, {.agent = *ParseIpAddress("192.0.2.7"), .sequence = 3});
  writer.BeginSample(wire::kSflowFlowSample,
                     wire::SflowFlowSample{.sampling_rate = 4096, .output = {.value = 44}});
  writer.AddRecord(wire::kSflowSampledHeader,
                   wire::SflowSampledHeader{.frame_length = 1106, .bytes = packet});
  writer.AddRecord(wire::kSflowQueueDepth, wire::SflowWordRecord{.value = 65'536});
  writer.AddRecord(wire::SflowTag(4413, 9), wire::SflowWordRecord{});
  writer.BeginSample(wire::kSflowCounterSample, wire::SflowCounterSample{.source = {.index = 9}});
  writer.AddRecord(wire::kSflowInterfaceCounters,
                   wire::SflowInterfaceRecord{.in_octets = 1ull << 60, .in_discards = 4});
  const Json sflow = LineOf(6343, writer.Finish())["sflow"];
  EXPECT_EQ(sflow["agent"], "192.0.2.7");
  EXPECT_EQ(sflow["sequence"], 3);
  ASSERT_EQ(sflow["samples"].size(), 2u);
  const Json& flow = sflow["samples"][0];
  EXPECT_EQ(flow["kind"], "flow");
  EXPECT_EQ(flow["rate"], 4096);
  EXPECT_EQ(flow["output"], 44);
  ASSERT_EQ(flow["records"].size(), 3u);
  EXPECT_EQ(flow["records"][0]["frame_length"], 1106);
  EXPECT_EQ(flow["records"][0]["packet"]["psn"], 77);
  EXPECT_EQ(flow["records"][1]["queue_depth"], 65'536);
  EXPECT_EQ(flow["records"][2]["enterprise"], 4413);
  EXPECT_EQ(flow["records"][2]["format"], 9);
  const Json& counters = sflow["samples"][1]["records"][0];
  EXPECT_EQ(counters["kind"], "interface");
  EXPECT_EQ(counters["in_octets"], "1152921504606846976");
  EXPECT_EQ(counters["in_discards"], 4);
}

TEST(TelemetryJson, PrintsEmbeddedHops) {
  const wire::IntMdHeader header = {.hop_words = 2,
                                    .instructions = wire::kIntNodeId | wire::kIntHopLatency};
  Bytes bytes(wire::IntMdHeader::kSize + 16);
  wire::ByteWriter out(bytes);
  Write(out, header);
  for (const uint32_t node : {12u, 11u}) {
    WriteIntHop(out, header, {.present = header.instructions, .node_id = node, .hop_latency = 800});
  }
  fmt::memory_buffer text;
  JsonLine json(text);
  WriteIntStackJson(json, bytes);
  json.Finish();
  const Json line = Json::parse(text.data(), text.data() + text.size());
  ASSERT_EQ(line["int_md"]["hops"].size(), 2u);
  EXPECT_EQ(line["int_md"]["hops"][1]["node_id"], 11);
  EXPECT_EQ(line["int_md"]["hops"][1]["hop_latency"], 800);
}

}  // namespace
}  // namespace rocescope::test

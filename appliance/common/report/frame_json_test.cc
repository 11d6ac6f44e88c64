// SPDX-License-Identifier: BSD-3-Clause
// The expected lines are derived from the table of keys in appliance/README.md.
#include "appliance/common/report/frame_json.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace rocescope {
namespace {

constexpr std::array<uint8_t, 80> kBytes{};

RawFrame Raw() {
  return {.bytes = kBytes,
          .original_length = 90,
          .timestamp = FromNanoseconds(1'714'564'800'000'000'001)};
}

DecodedFrame Acknowledge() {
  DecodedFrame frame{};
  frame.kind = FrameKind::kRoce;
  frame.ip_version = 4;
  frame.wire_length = 62;
  frame.source = IpAddress::FromV4(0x0a000001);
  frame.destination = IpAddress::FromV4(0x0a000002);
  frame.traffic_class = 26 << 2 | 2;
  frame.ttl = 64;
  frame.udp_source_port = 49152;
  frame.bth = {.opcode = 0x11,
               .migration_request = true,
               .partition_key = 0xffff,
               .destination_qpn = {17},
               .psn = 0xfffffe};
  frame.parts = kPartAeth;
  frame.aeth = {.syndrome = 0x1f, .msn = 3};
  return frame;
}

std::string Line(const RawFrame& raw, const DecodedFrame& frame,
                 DropReason drop = DropReason::kNone, IcrcResult icrc = IcrcResult::kUnknown) {
  fmt::memory_buffer out;
  AppendFrameJson(
      out, {.number = 7, .tap = "leaf1", .raw = raw, .drop = drop, .decoded = frame, .icrc = icrc});
  return fmt::to_string(out);
}

nlohmann::json FrameJson(const DecodedFrame& frame) {
  return nlohmann::json::parse(Line(Raw(), frame));
}

TEST(FrameJson, PrintsAnAcknowledgeAsOneLine) {
  EXPECT_EQ(Line(Raw(), Acknowledge()),
            R"({"frame":7,"ts_ns":"1714564800000000001","tap":"leaf1","caplen":80,"wirelen":62,)"
            R"("src_ip":"10.0.0.1","dst_ip":"10.0.0.2","dscp":26,"ecn":2,"ttl":64,)"
            R"("udp_sport":49152,"opcode":17,"opcode_name":"RC_ACKNOWLEDGE","se":false,)"
            R"("mig":true,"pad":0,"pkey":65535,"fecn":false,"becn":false,"dest_qp":17,)"
            R"("ack_req":false,"psn":16777214,)"
            R"("aeth":{"syndrome":31,"msn":3,"kind":"ack"},"payload_len":0})"
            "\n");
}

TEST(FrameJson, PrintsOnlyCaptureDataOfADroppedFrame) {
  EXPECT_EQ(Line(Raw(), DecodedFrame{}, DropReason::kTruncatedBth),
            R"({"frame":7,"ts_ns":"1714564800000000001","tap":"leaf1","caplen":80,"wirelen":90,)"
            R"("drop":"truncated_bth"})"
            "\n");
}

TEST(FrameJson, NamesTheKindOfEachSyndrome) {
  const auto aeth = [](uint8_t syndrome) {
    DecodedFrame frame = Acknowledge();
    frame.aeth = {.syndrome = syndrome, .msn = 0};
    return FrameJson(frame)["aeth"];
  };
  // IBTA vol. 1, tables 45 and 46: bits 6 and 5 are the kind, the low five bits its value.
  EXPECT_EQ(aeth(0x00)["kind"], "ack");
  EXPECT_EQ(aeth(0x2e)["kind"], "rnr_nak");
  EXPECT_EQ(aeth(0x40)["kind"], "reserved");
  EXPECT_EQ(aeth(0x60)["kind"], "nak");
  EXPECT_EQ(aeth(0x60)["code"], "psn_sequence_error");
  EXPECT_EQ(aeth(0x62)["code"], "remote_access_error");
  EXPECT_FALSE(aeth(0x00).contains("code"));
}

TEST(FrameJson, PrintsSixtyFourBitValuesAsStrings) {
  DecodedFrame frame = Acknowledge();
  frame.parts = kPartReth | kPartAtomicEth | kPartAtomicAckEth;
  frame.reth = {.virtual_address = ~0ull, .rkey = 0xffffffff, .dma_length = 0x80000000};
  frame.atomic = {.virtual_address = 1, .rkey = 2, .swap_or_add = 1ull << 53, .compare = 4};
  frame.atomic_ack = {.original_data = 0x8000000000000000};
  const nlohmann::json json = FrameJson(frame);
  EXPECT_EQ(json["reth"],
            nlohmann::json::parse(
                R"({"va":"18446744073709551615","rkey":4294967295,"length":2147483648})"));
  EXPECT_EQ(json["atomic"], nlohmann::json::parse(
                                R"({"va":"1","rkey":2,"swap":"9007199254740992","compare":"4"})"));
  EXPECT_EQ(json["atomic_ack"], "9223372036854775808");
}

TEST(FrameJson, PrintsDatagramImmediateAndInvalidateHeaders) {
  DecodedFrame frame = Acknowledge();
  frame.parts = kPartDeth | kPartImmDt | kPartIeth;
  frame.deth = {.queue_key = 0x80010000, .source_qpn = {1}};
  frame.immediate = {.data = 0xdeadbeef};
  frame.ieth = {.rkey = 0x1234};
  const nlohmann::json json = FrameJson(frame);
  EXPECT_EQ(json["deth"], nlohmann::json::parse(R"({"qkey":2147549184,"source_qp":1})"));
  EXPECT_EQ(json["imm"], 0xdeadbeef);
  EXPECT_EQ(json["ieth_rkey"], 0x1234);
}

TEST(FrameJson, PrintsTheFieldsOfACmMessage) {
  DecodedFrame frame = Acknowledge();
  frame.parts = kPartCm;
  frame.cm = {.attribute = wire::CmAttribute::kReadyToUse,
              .transaction_id = 1ull << 60,
              .local_comm_id = 5,
              .remote_comm_id = 6};
  EXPECT_EQ(
      FrameJson(frame)["cm"],
      nlohmann::json::parse(
          R"({"attribute":20,"attribute_name":"ReadyToUse","transaction_id":"1152921504606846976",
          "local_comm_id":5,"remote_comm_id":6})"));
}

TEST(FrameJson, PrintsThePrioritiesOfAPfcFrame) {
  DecodedFrame frame{};
  frame.kind = FrameKind::kPause;
  frame.wire_length = 60;
  frame.pause = {
      .opcode = wire::kPfcOpcode, .class_enable = 0x18, .quanta = {0, 0, 0, 65535, 1, 0, 0, 0}};
  const nlohmann::json json = FrameJson(frame);
  EXPECT_EQ(json["pause"], nlohmann::json::parse(
                               R"({"opcode":257,"classes":[3,4],"quanta":[0,0,0,65535,1,0,0,0]})"));
  EXPECT_FALSE(json.contains("src_ip"));
  EXPECT_FALSE(json.contains("psn"));
}

TEST(FrameJson, PrintsTheNetworkIdentifierAsOnTheWire) {
  DecodedFrame frame = Acknowledge();
  frame.segment = 5001;  // VNI 5000 + 1
  frame.vlan_count = 1;
  frame.vlan_id = 0;  // a priority tag counts as a tag
  const nlohmann::json json = FrameJson(frame);
  EXPECT_EQ(json["segment"], 5000);
  EXPECT_EQ(json["vlan"], 0);
}

TEST(FrameJson, ExtendsTheMirrorTimeToTheCaptureTime) {
  DecodedFrame frame = Acknowledge();
  // Units of 100 ns: the low 32 bits of 17145647999999999 x 100 ns, which is 100 ns before the
  // capture's time.
  frame.mirror = {.kind = MirrorKind::kErspan3,
                  .direction = MirrorDirection::kEgress,
                  .has_sequence = true,
                  .has_timestamp = true,
                  .granularity = wire::ErspanGranularity::k100Nanoseconds,
                  .session = 9,
                  .sequence = 44,
                  .timestamp = static_cast<uint32_t>(17'145'647'999'999'999)};
  EXPECT_EQ(
      FrameJson(frame)["mirror"],
      nlohmann::json::parse(
          R"({"kind":"erspan3","session":9,"truncated":false,"sequence":44,"direction":"egress",
          "ts_ns":"1714564799999999900"})"));
}

TEST(FrameJson, PrintsIcrcValidityOnlyIfComputed) {
  EXPECT_NE(
      Line(Raw(), Acknowledge(), DropReason::kNone, IcrcResult::kValid).find(R"("icrc_ok":true})"),
      std::string::npos);
  EXPECT_NE(Line(Raw(), Acknowledge(), DropReason::kNone, IcrcResult::kInvalid)
                .find(R"("icrc_ok":false})"),
            std::string::npos);
  EXPECT_EQ(Line(Raw(), Acknowledge()).find("icrc_ok"), std::string::npos);
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/mad.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using Data = std::vector<uint8_t>;

// The 232 octets of CM data with some of them set: {offset, octets}.
Data CmData(std::initializer_list<std::pair<size_t, Data>> fields) {
  Data data(232);
  for (const auto& [offset, bytes] : fields) {
    std::copy(bytes.begin(), bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  return data;
}

Data Written(const CmMessage& message) {
  Data data(300, 0xee);
  ByteWriter out(data);
  WriteCmMessage(out, message);
  data.resize(out.offset());
  return data;
}

MadHeader HeaderOf(const CmMessage& message) {
  return {.transaction_id = message.transaction_id,
          .attribute_id = static_cast<uint16_t>(message.attribute)};
}

// `message` is written as `golden`, and `golden` reads as a message that writes the same.
void ExpectCm(const CmMessage& message, const Data& golden) {
  EXPECT_EQ(Written(message), golden);
  ByteReader in(golden);
  CmMessage read;
  ASSERT_TRUE(ReadCmMessage(HeaderOf(message), in, read));
  EXPECT_EQ(read.attribute, message.attribute);
  EXPECT_EQ(read.transaction_id, message.transaction_id);
  EXPECT_EQ(Written(read), golden);
}

TEST(MadHeader, MatchesIbta1342) {
  const std::vector<uint8_t> golden = {
      0x01,                                            // base version
      0x07,                                            // management class: CM
      0x02,                                            // class version
      0x03,                                            // method: Send
      0x00, 0x1c,                                      // status
      0x00, 0x00,                                      // class specific
      0x00, 0x00, 0x00, 0x02, 0x6d, 0xc5, 0xc0, 0x6e,  // transaction ID
      0x00, 0x10,                                      // attribute ID: ConnectRequest
      0x00, 0x00,                                      // reserved
      0x00, 0x00, 0x00, 0x07,                          // attribute modifier
  };
  test::ExpectGolden(MadHeader{.status = 0x1c,
                               .transaction_id = 0x26dc5c06e,
                               .attribute_id = 0x10,
                               .attribute_modifier = 7},
                     golden);
  test::ExpectShortReadsFail<MadHeader>(golden);
}

TEST(CmMessage, ConnectRequestMatchesIbta1265) {
  ExpectCm({.attribute = CmAttribute::kConnectRequest,
            .transaction_id = 5,
            .local_comm_id = 0x6ec0c56d,
            .local_qpn = {0x2c0102},
            .starting_psn = 0x003da6,
            .service_id = 0x0000000001061c06,
            .transport_service = 1,
            .path_mtu = 3},
           CmData({
               {0, {0x6e, 0xc0, 0xc5, 0x6d}},                          // local communication ID
               {8, {0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x1c, 0x06}},  // service ID
               {32, {0x2c, 0x01, 0x02}},                               // local QPN
               {43, {0b00000'01'0}},      // response time-out, transport service type UC, flow ctl
               {44, {0x00, 0x3d, 0xa6}},  // starting PSN
               {50, {0b0011'0'000}},      // path MTU 1024, RDC, RNR retries
           }));
}

TEST(CmMessage, ConnectReplyMatchesIbta1268) {
  ExpectCm({.attribute = CmAttribute::kConnectReply,
            .local_comm_id = 0x9d88f456,
            .remote_comm_id = 0x6ec0c56d,
            .local_qpn = {0x00002b},
            .starting_psn = 0xfebd3d},
           CmData({
               {0, {0x9d, 0x88, 0xf4, 0x56}},  // local communication ID
               {4, {0x6e, 0xc0, 0xc5, 0x6d}},  // remote communication ID
               {12, {0x00, 0x00, 0x2b}},       // local QPN
               {20, {0xfe, 0xbd, 0x3d}},       // starting PSN
           }));
}

TEST(CmMessage, ConnectRejectMatchesIbta1267) {
  ExpectCm({.attribute = CmAttribute::kConnectReject,
            .local_comm_id = 1,
            .remote_comm_id = 2,
            .reason = 0x011c},
           CmData({
               {3, {0x01}},         // local communication ID
               {7, {0x02}},         // remote communication ID
               {10, {0x01, 0x1c}},  // reason, after message rejected and info length
           }));
}

TEST(CmMessage, DisconnectRequestMatchesIbta12610) {
  ExpectCm({.attribute = CmAttribute::kDisconnectRequest,
            .local_comm_id = 1,
            .remote_comm_id = 2,
            .remote_qpn = {0x123456}},
           CmData({{3, {0x01}}, {7, {0x02}}, {8, {0x12, 0x34, 0x56}}}));
}

TEST(CmMessage, LoadAlternatePathMatchesIbta1281) {
  ExpectCm({.attribute = CmAttribute::kLoadAlternatePath,
            .local_comm_id = 1,
            .remote_comm_id = 2,
            .remote_qpn = {0x123456}},
           CmData({{3, {0x01}}, {7, {0x02}}, {12, {0x12, 0x34, 0x56}}}));
}

TEST(CmMessage, AlternatePathResponseCarriesAStatus) {
  ExpectCm({.attribute = CmAttribute::kAlternatePathResponse,
            .local_comm_id = 1,
            .remote_comm_id = 2,
            .reason = 6},
           CmData({{3, {0x01}}, {7, {0x02}}, {9, {0x06}}}));
}

TEST(CmMessage, ServiceIdResolutionMatchesIbta1211) {
  ExpectCm({.attribute = CmAttribute::kServiceIdResolutionRequest,
            .local_comm_id = 0x01020304,
            .service_id = 0x1112131415161718},
           CmData({
               {0, {1, 2, 3, 4}},                                      // request ID
               {8, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}},  // service ID
           }));
  ExpectCm({.attribute = CmAttribute::kServiceIdResolutionReply,
            .local_comm_id = 0x01020304,
            .local_qpn = {0x0a0b0c},
            .service_id = 0x1112131415161718,
            .reason = 2},
           CmData({
               {0, {1, 2, 3, 4}},                                       // request ID
               {4, {0x02}},                                             // status
               {8, {0x0a, 0x0b, 0x0c}},                                 // QPN
               {12, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}},  // service ID
           }));
}

TEST(CmMessage, OthersCarryTheTwoCommunicationIds) {
  for (CmAttribute attribute : {CmAttribute::kMessageReceiptAcknowledgement,
                                CmAttribute::kReadyToUse, CmAttribute::kDisconnectReply}) {
    ExpectCm({.attribute = attribute, .local_comm_id = 1, .remote_comm_id = 2},
             CmData({{3, {0x01}}, {7, {0x02}}}));
  }
}

TEST(CmMessage, ReadsOnlyWhatItsAttributeHas) {
  const Data ones(kCmDataSize, 0xff);
  ByteReader in(ones);
  CmMessage message;
  ASSERT_TRUE(ReadCmMessage({.attribute_id = 0x14}, in, message));  // ReadyToUse
  EXPECT_EQ(message.local_comm_id, 0xffffffffu);
  EXPECT_EQ(message.local_qpn, Qpn{0});
  EXPECT_EQ(message.remote_qpn, Qpn{0});
  EXPECT_EQ(message.starting_psn, 0u);
  EXPECT_EQ(message.service_id, 0u);
  EXPECT_EQ(message.reason, 0u);
  EXPECT_EQ(in.offset(), 0u);
}

TEST(CmMessage, AnotherClassOrAttributeIsRefused) {
  const Data data(kCmDataSize);
  ByteReader in(data);
  CmMessage message;
  EXPECT_FALSE(ReadCmMessage({.management_class = 0x03, .attribute_id = 0x10}, in, message));
  EXPECT_FALSE(ReadCmMessage({.attribute_id = 0x0f}, in, message));
  EXPECT_FALSE(ReadCmMessage({.attribute_id = 0x1b}, in, message));
}

// A ConnectReply's last needed field is the starting PSN, octets 20 to 22.
TEST(CmMessage, ACutMessageIsReadOnceItsFieldsAreThere) {
  const Data data(kCmDataSize, 0xff);
  CmMessage message = {.local_comm_id = 42};
  ByteReader short_of_one(std::span<const uint8_t>(data).first(22));
  EXPECT_FALSE(ReadCmMessage({.attribute_id = 0x13}, short_of_one, message));
  EXPECT_EQ(message.local_comm_id, 42u);
  ByteReader enough(std::span<const uint8_t>(data).first(23));
  EXPECT_TRUE(ReadCmMessage({.attribute_id = 0x13}, enough, message));
  EXPECT_EQ(message.starting_psn, 0xffffffu);
}

}  // namespace
}  // namespace rocescope::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/sender_check.h"

#include <gtest/gtest.h>

#include "dataplane/telemetry/telemetry_reader.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

const IpAddress kLeaf = *ParseIpAddress("192.0.2.1");
const IpAddress kSpine = *ParseIpAddress("192.0.2.2");
const IpAddress kStranger = *ParseIpAddress("198.51.100.9");

TEST(SenderCheck, AcceptsAnAgentFromItsOwnAddressesOnly) {
  SenderCheck check;
  check.AllowAgent(kLeaf, kLeaf);
  check.AllowAgent(kSpine, kSpine);
  check.AllowNode(7, kLeaf);
  EXPECT_TRUE(check.AllowsSflow(kLeaf, kLeaf));
  EXPECT_FALSE(check.AllowsSflow(kLeaf, kSpine)) << "another switch";
  EXPECT_FALSE(check.AllowsSflow(kLeaf, kStranger));
  EXPECT_FALSE(check.AllowsSflow(kStranger, kStranger)) << "an unknown agent";
  EXPECT_TRUE(check.AllowsInt(7, kLeaf));
  EXPECT_FALSE(check.AllowsInt(7, kSpine));
  EXPECT_FALSE(check.AllowsInt(8, kLeaf));
}

TEST(SenderCheck, AllowedSourcesMayReportForKnownSwitchesOnly) {
  SenderCheck check;
  check.AllowSources(*ParseIpPrefix("198.51.100.0/24"));
  check.KnowAgent(kLeaf);
  check.KnowNode(7);
  EXPECT_TRUE(check.AllowsSflow(kLeaf, kStranger));
  EXPECT_FALSE(check.AllowsSflow(kSpine, kStranger));
  EXPECT_TRUE(check.AllowsInt(7, kStranger));
  EXPECT_FALSE(check.AllowsInt(8, kStranger));
}

TEST(SenderCheck, AcceptsEverythingFromAllowedSourcesWithoutATopology) {
  SenderCheck check;
  check.AllowSources(*ParseIpPrefix("198.51.100.0/24"));
  EXPECT_TRUE(check.AllowsSflow(kLeaf, kStranger));
  EXPECT_TRUE(check.AllowsInt(7, kStranger));
  EXPECT_FALSE(check.AllowsInt(7, kLeaf));
}

// A reader that accepts only node 7 and agent 192.0.2.1, both from 192.0.2.1.
class RefusedTelemetry : public testing::Test {
 protected:
  RefusedTelemetry() {
    auto check = std::make_shared<SenderCheck>();
    check->AllowAgent(kLeaf, kLeaf);
    check->AllowNode(7, kLeaf);
    reader_.emplace(TelemetryReader::Options{.senders = std::move(check)});
  }
  DropReason Take(FrameKind kind, const Bytes& datagram, const IpAddress& source) {
    DecodedFrame frame{};
    frame.kind = kind;
    frame.source = source;
    frame.telemetry = datagram;
    return reader_->Take(frame, 0, FromNanoseconds(1), out_);
  }

  // Version 5, agent 192.0.2.1, no samples; a report of node 7 without metadata and packet.
  const Bytes sflow_ = {0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0,
                        0, 0, 0, 0, 0, 9, 0, 0, 0,   0, 0, 0, 0, 0};
  const Bytes report_ = {0x20, 0, 0, 1, 0, 0, 0, 7, 0x10, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  std::optional<TelemetryReader> reader_;
  RecordBatch out_;
};

TEST_F(RefusedTelemetry, IsCountedAndNamed) {
  EXPECT_EQ(Take(FrameKind::kSflow, sflow_, kLeaf), DropReason::kNone);
  EXPECT_EQ(Take(FrameKind::kIntReport, report_, kLeaf), DropReason::kNone);
  EXPECT_EQ(out_.hops.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Take(FrameKind::kSflow, sflow_, kStranger), DropReason::kUnknownSender);
  }
  EXPECT_EQ(Take(FrameKind::kIntReport, report_, kStranger), DropReason::kUnknownSender);
  EXPECT_EQ(out_.hops.size(), 1u) << "makes no record";
  const TelemetryCounters& counters = reader_->counters();
  constexpr auto kUnknown = static_cast<size_t>(DropReason::kUnknownSender);
  EXPECT_EQ(counters.sflow_datagrams.dropped[kUnknown], 3u);
  EXPECT_EQ(counters.int_reports.dropped[kUnknown], 1u);
  EXPECT_TRUE(counters.sflow_datagrams.Balances());
  EXPECT_TRUE(counters.int_reports.Balances());
  const std::vector<RefusedSender> refused = reader_->Refused();
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_FALSE(refused[0].is_sflow);
  EXPECT_EQ(refused[0].node_id, 7u);
  EXPECT_EQ(refused[1].source, kStranger);
  EXPECT_EQ(refused[1].agent, kLeaf);
  EXPECT_EQ(refused[1].datagrams, 3u);
  EXPECT_EQ(reader_->Sources().size(), 2u) << "only accepted senders are followed";
}

TEST_F(RefusedTelemetry, ListIsBounded) {
  for (uint32_t i = 0; i < 10'000; ++i) {
    Take(FrameKind::kSflow, sflow_, IpAddress::FromV4(0x0a000000 + i));
  }
  EXPECT_EQ(reader_->Refused().size(), TelemetryReader::kMaximumRefused);
  EXPECT_EQ(reader_->counters().sflow_datagrams.DroppedTotal(), 10'000u);
}

}  // namespace
}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/box/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/frame_builder.h"
#include "tests/support/udp_sender.h"

namespace rocescope::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};

std::unique_ptr<Box> OpenBox(const ApplianceConfig& config) {
  auto box = Box::Open(config, [](const std::string&) {});
  EXPECT_TRUE(box) << box.error().message;
  return *std::move(box);
}

std::string ErrorOf(const ApplianceConfig& config) {
  const auto box = Box::Open(config, [](const std::string&) {});
  return box ? "" : box.error().message;
}

TEST(Box, NeedsASource) { EXPECT_THAT(ErrorOf({}), HasSubstr("names nothing to receive from")); }

TEST(Box, SaysWhatCannotBeRead) {
  EXPECT_THAT(ErrorOf({.topology = "/nowhere/fabric.yaml", .udp = {.sflow = {kAnyPort}}}),
              HasSubstr("/nowhere/fabric.yaml"));
  EXPECT_THAT(ErrorOf({.udp = {.sflow = {kAnyPort}}, .host_files = {.rdma = {"/nowhere/qp"}}}),
              HasSubstr("/nowhere/qp"));
}

TEST(Box, SaysWhichInterfaceIsNotThere) {
  EXPECT_THAT(ErrorOf({.interfaces = {{.name = "nosuch0"}}}), HasSubstr("interface nosuch0: "));
}

TEST(Box, WorksOutAnswersWindowByWindowThoughNothingComes) {
  const auto box =
      OpenBox({.analysis_window = std::chrono::milliseconds(50), .udp = {.sflow = {kAnyPort}}});
  EXPECT_EQ(box->answers().Latest(), nullptr);
  box->Start();
  const auto first = box->answers().WaitForOther(0, std::chrono::seconds(20));
  ASSERT_NE(first, nullptr);
  const auto second = box->answers().WaitForOther(first->version, std::chrono::seconds(20));
  ASSERT_NE(second, nullptr);
  EXPECT_GT(second->version, first->version);
  EXPECT_GE(second->reached - first->reached, std::chrono::milliseconds(1));
  EXPECT_TRUE(second->snapshot->flows->empty());
}

TEST(Box, AccountsForWhatComesByItsSockets) {
  const auto box = OpenBox({.udp = {.int_reports = {kAnyPort}, .sflow = {kAnyPort}}});
  const std::vector<ListenAddress> listens = box->Sources().at(0).listens;
  ASSERT_EQ(listens.size(), 2u);
  UdpSender sflow(listens[1].port);
  // Version 5, agent 192.0.2.1, no samples; and what is none.
  ASSERT_TRUE(sflow.Send(
      Bytes{0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(sflow.Send(Bytes{1, 2, 3}));
  box->Start();
  box->Stop();
  const std::vector<SourceState> sources = box->Sources();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].kind, SourceKind::kUdp);
  EXPECT_EQ(sources[0].error, "");
  const FrameProcessor::Counters& counters = sources[0].statistics.frames;
  EXPECT_EQ(counters.ledger.received, 2u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.received, 2u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.decoded, 1u);
  EXPECT_TRUE(counters.telemetry.sflow_datagrams.Balances());
  ASSERT_NE(box->answers().Latest(), nullptr);  // the last ones
}

TEST(Box, StopsTwice) {
  const auto box = OpenBox({.udp = {.sflow = {kAnyPort}}});
  box->Start();
  box->Stop();
  box->Stop();
}

}  // namespace
}  // namespace rocescope::test

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string ErrorOf(std::string_view text) {
  const auto nodes = ParseJobNodes(text);
  return nodes ? "" : nodes.error().message;
}

TEST(JobNodes, ParsesAHostList) {
  const auto nodes = ParseJobNodes("gpu-[08-10],login");
  ASSERT_TRUE(nodes);
  ASSERT_THAT(*nodes, SizeIs(4));
  EXPECT_EQ((*nodes)[0].name, "gpu-08");
  EXPECT_EQ((*nodes)[3].name, "login");
  EXPECT_THAT((*nodes)[0].gpus, IsEmpty());
}

TEST(JobNodes, ParsesGpusAfterAColon) {
  const auto nodes = ParseJobNodes("gpu-[1-2]:4,0-2,2");
  ASSERT_TRUE(nodes);
  ASSERT_THAT(*nodes, SizeIs(2));
  EXPECT_THAT((*nodes)[1].gpus, ElementsAre(0, 1, 2, 4));
}

TEST(JobNodes, QuotesInvalidInput) {
  for (const char* gpus : {"", "a", "3-1", "1-", "-1", "1024", "1,,2", "1,"}) {
    EXPECT_THAT(ErrorOf(std::string("host0:") + gpus), HasSubstr("expected GPU numbers")) << gpus;
  }
  EXPECT_NE(ErrorOf("gpu-[1-"), "");
  EXPECT_NE(ErrorOf("gpu-[1-99999999]"), "");
  EXPECT_THAT(ErrorOf("two words"), HasSubstr("\"two words\" is not a valid node name"));
}

TEST(JobNodes, WritesShortTextsThatRoundTrip) {
  std::vector<AllocatedNode> nodes;
  for (const char* name : {"a1", "a2", "a3"}) nodes.push_back({.name = name});
  nodes.push_back({.name = "a4", .gpus = {0, 1, 2, 6}});
  EXPECT_THAT(WriteJobNodes(nodes), ElementsAre("a[1-3]", "a4:0-2,6"));
  const auto last = ParseJobNodes("a4:0-2,6");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->front().gpus, nodes[3].gpus);
}

}  // namespace
}  // namespace rocescope

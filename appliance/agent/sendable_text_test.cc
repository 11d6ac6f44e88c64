// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/sendable_text.h"

#include <gtest/gtest.h>

#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

TEST(SendableText, IsUtf8AndNotTooLong) {
  EXPECT_EQ(SendableText("/var/log/m\xc3\xbcnchen.log"), "/var/log/m\xc3\xbcnchen.log");
  EXPECT_EQ(SendableText("\xff/\xc3"), "?/?");
  EXPECT_EQ(SendableText("ab\xc3\xbc", 3), "ab") << "no partial character";
  EXPECT_EQ(SendableText(std::string(5000, 'a')), std::string(1024, 'a'));
}

TEST(SendableText, AppliesToWholeMessages) {
  v1::AgentBatch batch;
  batch.add_logs()->set_path("\xff.log");
  batch.mutable_logs(0)->set_text("NCCL \xff\n");
  batch.mutable_processes()->add_processes()->set_command(std::string(5000, 'c'));
  batch.add_counters()->add_metrics("\xfe");
  v1::AgentBatch heard;
  MakeSendable(batch);
  ASSERT_TRUE(heard.ParseFromString(batch.SerializeAsString()));
  EXPECT_EQ(heard.logs(0).path(), "?.log");
  EXPECT_EQ(heard.logs(0).text(), "NCCL \xff\n") << "log text is bytes";
  EXPECT_EQ(heard.processes().processes(0).command().size(), 1024u);
  EXPECT_EQ(heard.counters(0).metrics(0), "?");
}

}  // namespace
}  // namespace rocescope

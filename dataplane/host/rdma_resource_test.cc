// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/rdma_resource.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "device lqpn" of each.
std::vector<std::string> Found(const RdmaResource& resource) {
  std::vector<std::string> found;
  for (const RdmaQueuePair& queue_pair : resource.queue_pairs) {
    found.push_back(queue_pair.device + " " + std::to_string(queue_pair.local.value));
  }
  return found;
}

TEST(RdmaText, LineIsRead) {
  const RdmaResource resource = ParseRdmaResource(
      "link mlx5_0/2 lqpn 50 rqpn 61 type RC state RTS rq-psn 16777215 sq-psn 7 path-mig-state "
      "MIGRATED pdn 3 pid 479 comm python3\n");
  ASSERT_EQ(resource.queue_pairs.size(), 1u);
  const RdmaQueuePair& queue_pair = resource.queue_pairs[0];
  EXPECT_EQ(queue_pair.device, "mlx5_0");
  EXPECT_EQ(queue_pair.port, 2);
  EXPECT_EQ(queue_pair.local, Qpn{50});
  EXPECT_EQ(queue_pair.remote, Qpn{61});
  EXPECT_EQ(queue_pair.type, "RC");
  EXPECT_EQ(queue_pair.state, "RTS");
  EXPECT_EQ(queue_pair.receive_psn, 16777215u);
  EXPECT_EQ(queue_pair.send_psn, 7u);
  EXPECT_EQ(queue_pair.process_id, 479u);
  EXPECT_EQ(queue_pair.command, "python3");
  EXPECT_EQ(queue_pair.line, 1u);
}

TEST(RdmaText, KernelQueuePairsHaveNoProcess) {
  const RdmaResource resource = ParseRdmaResource(
      "link mlx5_0/- lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n"
      "link mlx5_0/1 lqpn 50 rqpn 0 type RC state INIT sq-psn 0 comm ib send bw drv_x 3\n");
  ASSERT_EQ(resource.queue_pairs.size(), 2u);
  EXPECT_FALSE(resource.queue_pairs[0].port);
  EXPECT_FALSE(resource.queue_pairs[0].process_id);
  EXPECT_EQ(resource.queue_pairs[0].command, "ib_core");
  EXPECT_FALSE(resource.queue_pairs[1].remote);  // not connected yet
  EXPECT_EQ(resource.queue_pairs[1].command, "ib send bw");
}

TEST(RdmaText, ValuesAreValidUtf8) {
  const RdmaResource resource = ParseRdmaResource(
      "link mlx\xff/1 lqpn 50 type RC state RTS comm ib\xe2\x82\n"
      "[{\"ifname\":\"mlx5_0\",\"lqpn\":51,\"type\":\"RC\",\"comm\":\"\xe2\x82\xac\xff\"}]\n");
  ASSERT_EQ(resource.queue_pairs.size(), 2u);
  EXPECT_EQ(resource.queue_pairs[0].device, "mlx?");
  EXPECT_EQ(resource.queue_pairs[0].command, "ib??");
  EXPECT_EQ(resource.queue_pairs[1].command, "\xe2\x82\xac?");
}

TEST(RdmaText, BadValueIsReportedWithItsLine) {
  const RdmaResource resource = ParseRdmaResource(
      "link mlx5_0/1 lqpn 5 type RC state RTS sq-psn 0 comm [a]\n"
      "link mlx5_0/1 lqpn 16777216 type RC state RTS sq-psn 0 comm [a]\n"
      "rdma: command not found\n");
  EXPECT_THAT(Found(resource), ElementsAre("mlx5_0 5"));
  EXPECT_EQ(resource.malformed, 2u);
  EXPECT_THAT(resource.notes,
              ElementsAre("line 2: expected a number up to 16777215 for lqpn, not \"16777216\"",
                          "line 3: expected \"link\", or JSON, not \"rdma\""));
}

TEST(RdmaText, TruncatedLineIsIgnored) {
  const RdmaResource resource =
      ParseRdmaResource("link a/1 lqpn 5 type RC comm [a]\nlink a/1 lqpn 123 rqpn 4");
  EXPECT_THAT(Found(resource), ElementsAre("a 5"));
  EXPECT_EQ(resource.malformed, 1u);
}

TEST(RdmaJson, ArraysAreReadAnywhere) {
  const RdmaResource resource = ParseRdmaResource(
      "[{\"ifindex\":4,\"ifname\":\"hns_0\",\"port\":1,\"lqpn\":41,\"rqpn\":40,\"type\":\"RC\","
      "\"state\":\"RTR\",\"rq-psn\":12474738,\"sq-psn\":0,\"path-mig-state\":\"ARMED\",\"pdn\":9,"
      "\"pid\":1523,\"comm\":\"ib_send_bw\"},{\"ifname\":\"hns_0\",\"lqpn\":42}]"
      "[{\"ifname\":\"hns_1\",\"lqpn\":7,\"comm\":\"a \\\"b\\\" {c}\"}]\n[]\n"
      "[ {\n  \"ifname\": \"hns_2\",\n  \"lqpn\": 8\n } ]\n");
  EXPECT_THAT(Found(resource), ElementsAre("hns_0 41", "hns_0 42", "hns_1 7", "hns_2 8"));
  EXPECT_EQ(resource.malformed, 0u);
  EXPECT_EQ(resource.queue_pairs[0].receive_psn, 12474738u);
  EXPECT_EQ(resource.queue_pairs[0].process_id, 1523u);
  EXPECT_FALSE(resource.queue_pairs[1].port);
  EXPECT_EQ(resource.queue_pairs[2].command, "a \"b\" {c}");
  EXPECT_EQ(resource.queue_pairs[3].line, 3u);
}

TEST(RdmaJson, DriverFieldsAreIgnored) {
  const RdmaResource resource = ParseRdmaResource(
      "[ {\n \"ifname\": \"a\",\n \"lqpn\": 1,\n \"comm\": \"x\"\n },\n"
      " \"drv_sq_wqe_cnt\": 128,\n \"drv_lqpn\": 9\n}\n"
      "[ {\n \"ifname\": \"a\",\n \"lqpn\": 2,\n \"comm\": \"x\",{\n \"drv_sq_wqe_cnt\": 128\n"
      " }\n } ]\n"
      "[{\"ifname\":\"a\",\"lqpn\":3,\"drv\":{\"lqpn\":4}}]\n");
  EXPECT_THAT(Found(resource), ElementsAre("a 1", "a 2", "a 3"));
  EXPECT_EQ(resource.malformed, 0u);
}

TEST(RdmaJson, LostBraceCostsOneRecord) {
  const RdmaResource resource =
      ParseRdmaResource("[{\"ifname\":\"a\",\"lqpn\":1,\n\"ifname\":\"a\",\"lqpn\":2}]\n");
  EXPECT_THAT(Found(resource), ElementsAre("a 2"));
  EXPECT_THAT(resource.notes, ElementsAre("line 2: expected \"}\" to close the object of line 1"));
}

TEST(RdmaJson, TruncatedObjectIsIgnored) {
  const RdmaResource resource =
      ParseRdmaResource("[{\"ifname\":\"a\",\"lqpn\":1},{\"ifname\":\"a\",\"lqpn\":23");
  EXPECT_THAT(Found(resource), ElementsAre("a 1"));
  EXPECT_THAT(resource.notes, ElementsAre(HasSubstr("line 1: expected \"}\" to close")));
}

TEST(RdmaJson, TruncationBetweenObjectsIsReported) {
  const std::string_view object = R"({"ifname":"mlx5_0","lqpn":7,"type":"RC"})";
  const RdmaResource cut = ParseRdmaResource(fmt::format("[{0},{0},", object));
  EXPECT_EQ(cut.queue_pairs.size(), 2u);
  EXPECT_THAT(cut.notes, ElementsAre(HasSubstr("line 1: expected \"]\" to close the list")));
  EXPECT_THAT(ParseRdmaResource(fmt::format("[{0},\n{0}]\n[]", object)).notes, IsEmpty());
  EXPECT_THAT(ParseRdmaResource(fmt::format("[{0},\n\"drv_x\": 1\n}}", object)).notes, IsEmpty())
      << "older iproute2 ends the list in this way";
}

TEST(RdmaJson, SharedReceiveQueuesAreSkipped) {
  const RdmaResource resource = ParseRdmaResource(
      "[{\"ifname\":\"a\",\"srqn\":0,\"lqpn\":[\"14-15\",\"22-23\"],\"comm\":\"x\"},"
      "{\"ifname\":\"a\",\"lqpn\":5}]\n");
  EXPECT_THAT(Found(resource), ElementsAre("a 5"));
  EXPECT_EQ(resource.skipped, 1u);
  EXPECT_EQ(resource.malformed, 0u);
}

TEST(RdmaResource, NotesAreBounded) {
  std::string text;
  for (size_t i = 0; i < 2 * kMaxRdmaResourceNotes; ++i) text += "what\n";
  const RdmaResource resource = ParseRdmaResource(text);
  EXPECT_EQ(resource.malformed, 2 * kMaxRdmaResourceNotes);
  EXPECT_EQ(resource.notes.size(), kMaxRdmaResourceNotes);
}

// Copied from terminals: every form above with prompts and headings in between; expected values
// were read manually.
TEST(RdmaResource, ReadsTextCopiedFromTerminals) {
  const auto path = test::Fixture("hosts/rdma-resource-show-qp.txt");
  if (!path) GTEST_SKIP() << "no rdma-resource-show-qp.txt in " << test::FixtureFolder();
  std::ifstream file(*path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const RdmaResource resource = ParseRdmaResource(text);
  EXPECT_THAT(Found(resource),
              ElementsAre("hns_0 41", "hns_2 1", "ibp0s9 0", "ibp0s9 1", "ibp0s9 7", "ibp0s9 42",
                          "ibp0s9 43", "ibp0s9 50", "bnxt_re0 123", "bnxt_re0 1"));
  EXPECT_EQ(resource.queue_pairs[0].remote, Qpn{40});
  EXPECT_EQ(resource.queue_pairs[6].process_id, 419u);
  EXPECT_EQ(resource.queue_pairs[8].remote, Qpn{456});
  EXPECT_EQ(resource.malformed, 0u);
  EXPECT_EQ(resource.skipped, 1u);
}

}  // namespace
}  // namespace rocescope

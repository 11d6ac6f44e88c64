// SPDX-License-Identifier: BSD-3-Clause
// Messages are built byte by byte from linux/netlink.h and rdma/rdma_netlink.h of the kernel's user
// API. Attribute numbers are literals.
#include "appliance/agent/rdma_netlink.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rocescope {
namespace {

constexpr uint32_t kSequence = 7;
// RDMA_NL_NLDEV (5) << 10, plus RDMA_NLDEV_CMD_GET (1) or RDMA_NLDEV_CMD_RES_QP_GET (10).
constexpr uint16_t kDevice = 0x1401;
constexpr uint16_t kQueuePair = 0x140a;
constexpr uint16_t kNested = 0x8000;  // NLA_F_NESTED

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string Padded(std::string text) {
  text.resize((text.size() + 3) / 4 * 4, '\0');
  return text;
}

std::string Attribute(uint16_t type, const std::string& content) {
  return Padded(Raw(static_cast<uint16_t>(4 + content.size())) + Raw(type) + content);
}

std::string Message(uint16_t type, const std::string& content, uint16_t flags = 2,
                    uint32_t sequence = kSequence) {
  return Padded(Raw(static_cast<uint32_t>(16 + content.size())) + Raw(type) + Raw(flags) +
                Raw(sequence) + Raw(uint32_t{4242}) + content);
}

std::string Text(const char* text) { return {text, std::strlen(text) + 1}; }

// A queue pair of a process as mlx5 reports it.
std::string UserEntry() {
  return Attribute(kNested | 20,                                 // RES_QP_ENTRY
                   Attribute(3, Raw(uint32_t{1})) +              // PORT_INDEX
                       Attribute(21, Raw(uint32_t{0x1234})) +    // RES_LQPN
                       Attribute(22, Raw(uint32_t{0xabcdef})) +  // RES_RQPN
                       Attribute(23, Raw(uint32_t{100})) +       // RES_RQ_PSN
                       Attribute(24, Raw(uint32_t{200})) +       // RES_SQ_PSN
                       Attribute(25, Raw(uint8_t{0})) +          // RES_PATH_MIG_STATE
                       Attribute(26, Raw(uint8_t{2})) +          // RES_TYPE: RC
                       Attribute(27, Raw(uint8_t{3})) +          // RES_STATE: RTS
                       Attribute(28, Raw(uint32_t{4100})));      // RES_PID
}

std::string KernelEntry() {
  return Attribute(kNested | 20, Attribute(21, Raw(uint32_t{1})) +
                                     Attribute(26, Raw(uint8_t{1})) +  // GSI
                                     Attribute(27, Raw(uint8_t{3})) +
                                     Attribute(29, Text("ib_core")));  // RES_KERN_NAME
}

std::string Table(const std::string& entries) {
  return Message(kQueuePair, Attribute(1, Raw(uint32_t{0})) + Attribute(2, Text("mlx5_0")) +
                                 Attribute(kNested | 19, entries));  // RES_QP
}

TEST(RdmaNetlink, ReadsQueuePairsOfProcessesAndOfTheKernel) {
  const auto answer = ParseRdmaNetlink(Table(KernelEntry() + UserEntry()), kSequence);
  EXPECT_EQ(answer.malformed, 0u);
  EXPECT_FALSE(answer.done);
  ASSERT_EQ(answer.queue_pairs.size(), 2u);
  const RdmaQueuePair& kernel = answer.queue_pairs[0];
  EXPECT_EQ(kernel.local, Qpn{1});
  EXPECT_EQ(kernel.type, "GSI");
  EXPECT_EQ(kernel.command, "ib_core");
  EXPECT_EQ(kernel.process_id, std::nullopt);
  EXPECT_EQ(kernel.remote, std::nullopt);
  const RdmaQueuePair& user = answer.queue_pairs[1];
  EXPECT_EQ(user.device, "mlx5_0");
  EXPECT_EQ(user.port, 1);
  EXPECT_EQ(user.local, Qpn{0x1234});
  EXPECT_EQ(user.remote, Qpn{0xabcdef});
  EXPECT_EQ(user.type, "RC");
  EXPECT_EQ(user.state, "RTS");
  EXPECT_EQ(user.process_id, 4100u);
  EXPECT_EQ(user.receive_psn, 100u);
  EXPECT_EQ(user.send_psn, 200u);
}

// The output of iproute2 for the same queue pair, read by its own parser.
TEST(RdmaNetlink, AgreesWithTheTextParser) {
  const auto answer = ParseRdmaNetlink(Table(UserEntry()), kSequence);
  const RdmaResource printed = ParseRdmaResource(
      "link mlx5_0/1 lqpn 4660 rqpn 11259375 type RC state RTS rq-psn 100 sq-psn 200 "
      "path-mig-state MIGRATED pid 4100 comm python\n");
  ASSERT_EQ(printed.queue_pairs.size(), 1u);
  ASSERT_EQ(answer.queue_pairs.size(), 1u);
  const RdmaQueuePair& a = answer.queue_pairs[0];
  const RdmaQueuePair& b = printed.queue_pairs[0];
  EXPECT_EQ(std::tie(a.device, a.port, a.local, a.remote, a.type, a.state, a.process_id,
                     a.receive_psn, a.send_psn),
            std::tie(b.device, b.port, b.local, b.remote, b.type, b.state, b.process_id,
                     b.receive_psn, b.send_psn));
}

TEST(RdmaNetlink, ReadsDeviceIndices) {
  const std::string one =
      Message(kDevice, Attribute(1, Raw(uint32_t{0})) + Attribute(2, Text("mlx5_0")));
  const std::string two = Message(kDevice, Attribute(1, Raw(uint32_t{3})));
  const std::string done = Message(3, Raw(int32_t{0}));
  const auto answer = ParseRdmaNetlink(one + two + done, kSequence);
  EXPECT_EQ(answer.devices, (std::vector<uint32_t>{0, 3}));
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(answer.error, std::nullopt);
}

TEST(RdmaNetlink, ReportsErrorsAndInterruptions) {
  const auto refused = ParseRdmaNetlink(Message(2, Raw(int32_t{-1}) + std::string(16, '\0')), 7);
  EXPECT_EQ(refused.error, 1);
  EXPECT_TRUE(refused.done);
  const auto interrupted = ParseRdmaNetlink(Message(3, Raw(int32_t{0}), 0x12), kSequence);
  EXPECT_TRUE(interrupted.interrupted);
}

TEST(RdmaNetlink, IgnoresOtherDumps) {
  EXPECT_TRUE(ParseRdmaNetlink(Table(UserEntry()), kSequence + 1).queue_pairs.empty());
}

TEST(RdmaNetlink, CountsTruncatedMessages) {
  const std::string whole = Table(UserEntry());
  for (size_t size = 1; size < whole.size(); ++size) {
    const auto answer = ParseRdmaNetlink(std::string_view(whole).substr(0, size), kSequence);
    EXPECT_EQ(answer.malformed, 1u) << size;
    EXPECT_TRUE(answer.queue_pairs.empty()) << size;
  }
  std::string longer = whole;
  longer[16 + 8 + 4 + 8] = '\xff';  // the table's length, after index and name
  EXPECT_GT(ParseRdmaNetlink(longer, kSequence).malformed, 0u);
}

TEST(RdmaNetlink, IgnoresEntriesWithoutQpn) {
  const auto answer =
      ParseRdmaNetlink(Table(Attribute(kNested | 20, Attribute(26, Raw(uint8_t{2})))), kSequence);
  EXPECT_TRUE(answer.queue_pairs.empty());
  EXPECT_EQ(answer.malformed, 1u);
}

TEST(RdmaNetlink, BuildsADumpRequest) {
  // NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP
  EXPECT_EQ(RdmaNetlinkRequest(10, 9, 3),
            Raw(uint32_t{24}) + Raw(kQueuePair) + Raw(uint16_t{0x305}) + Raw(uint32_t{9}) +
                Raw(uint32_t{0}) + Raw(uint16_t{8}) + Raw(uint16_t{1}) + Raw(uint32_t{3}));
  EXPECT_EQ(RdmaNetlinkRequest(1, 9, std::nullopt).size(), 16u);
}

TEST(RdmaNetlink, ReportsAKernelWithoutRdma) {
  const auto queue_pairs = ReadKernelQueuePairs();
  if (!queue_pairs) {
    EXPECT_NE(queue_pairs.error().message, "");
  }
}

}  // namespace
}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Queue pair lines of each NCCL release, written by hand according to its format strings.
#include <gtest/gtest.h>

#include "dataplane/host/nccl_log.h"
#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::LogText;
using Role = NcclQueuePairRole;

std::vector<NcclQueuePair> Of(std::initializer_list<std::string_view> messages) {
  LogText text;
  for (const std::string_view message : messages) text.Info(message);
  const NcclLog log = text.Parse();
  EXPECT_EQ(log.malformed, 0u);
  return log.processes.at(0).queue_pairs;
}

NcclQueuePair One(std::string_view message) {
  const std::vector<NcclQueuePair> all = Of({message});
  EXPECT_EQ(all.size(), 1u) << message;
  return all.empty() ? NcclQueuePair{} : all[0];
}

// 10.232.212.185 is 0a e8 d4 b9; after ff ff this is 00 00 ff ff 0a e8 d4 b9, which read from the
// last byte to the first is B9D4E80AFFFF0000.
const IpAddress kAddress = IpAddress::FromV4(0x0ae8d4b9);

TEST(NcclQueuePair, Of2_3To2_18) {
  const NcclQueuePair roce = One("NET/IB: Dev 2 Port 1 qpn 1234 mtu 5 GID 3 (0/B9D4E80AFFFF0000)");
  EXPECT_EQ(roce.role, Role::kSend);
  EXPECT_EQ(roce.net_device, 2);
  EXPECT_EQ(roce.ib_device, 2);
  EXPECT_EQ(roce.port, 1);
  EXPECT_EQ(roce.local, Qpn{1234});
  EXPECT_EQ(roce.mtu, 4096u);  // enum ibv_mtu: 5
  EXPECT_EQ(roce.gid_index, 3);
  EXPECT_EQ(roce.address, kAddress);
  EXPECT_FALSE(roce.remote);

  const NcclQueuePair infiniband = One("NET/IB: Dev 0 Port 1 qpn 9 mtu 4 LID 17");
  EXPECT_EQ(infiniband.mtu, 2048u);
  EXPECT_EQ(infiniband.lid, 17);
  EXPECT_FALSE(infiniband.address);
}

TEST(NcclQueuePair, Of2_19WhoseSetEceNamesTheLocalOne) {
  const NcclProcess process =
      LogText()
          .Info(
              "NET/IB: Dev 1 Port 1 qpn 55 mtu 3 query_ece={supported=1, vendor_id=0x15b3, "
              "options=0x30000002, comp_mask=0x0} GID 1 (80FE/100000000000000)")
          .Info(
              "NET/IB: Dev 1 Port 1 qpn 55 set_ece={supported=1, vendor_id=0x15b3, "
              "options=0x30000002, comp_mask=0x0}")
          .Process();
  ASSERT_EQ(process.queue_pairs.size(), 1u);
  EXPECT_EQ(process.queue_pairs[0].mtu, 1024u);
  EXPECT_EQ(ToString(*process.queue_pairs[0].address), "fe80::1");
  ASSERT_EQ(process.ece.size(), 1u);
  EXPECT_FALSE(process.ece[0].is_remote);
}

TEST(NcclQueuePair, Of2_20To2_26WhoseSetEceNamesTheRemoteOne) {
  const NcclProcess process =
      LogText()
          .Info(
              "NET/IB: NCCL MergedDev 4 IbDev 1 Port 2 qpn 77 mtu 5 query_ece={supported=1, "
              "vendor_id=0x15b3, options=0x30000002, comp_mask=0x0} GID 3 (0/B9D4E80AFFFF0000) "
              "fifoRkey=0x5e12 fifoLkey=0x5e13")
          .Info(
              "NET/IB: IbDev 1 Port 2 qpn 88 set_ece={supported=1, vendor_id=0x15b3, "
              "options=0x30000002, comp_mask=0x0}")
          .Process();
  ASSERT_EQ(process.queue_pairs.size(), 1u);
  const NcclQueuePair& queue_pair = process.queue_pairs[0];
  EXPECT_TRUE(queue_pair.merged);
  EXPECT_EQ(queue_pair.net_device, 4);
  EXPECT_EQ(queue_pair.ib_device, 1);
  EXPECT_EQ(queue_pair.port, 2);
  EXPECT_EQ(queue_pair.fifo_rkey, 0x5e12u);
  EXPECT_EQ(queue_pair.fifo_lkey, 0x5e13u);
  ASSERT_EQ(process.ece.size(), 1u);
  EXPECT_EQ(process.ece[0].qpn, Qpn{88});
  EXPECT_TRUE(process.ece[0].is_remote);
}

TEST(NcclQueuePair, OnInfiniBandFrom2_20) {
  const NcclQueuePair v2_20 =
      One("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 9 mtu 5 LID 17 fifoRkey=0x1 fifoLkey=0x2");
  EXPECT_EQ(v2_20.lid, 17);
  EXPECT_EQ(v2_20.fifo_lkey, 2u);
  const NcclQueuePair v2_22 =
      One("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 9 mtu 5 LID 18 subnet-prefix "
          "18338657682652659712  FLID 3 fifoRkey=0x3 fifoLkey=0x4");
  EXPECT_EQ(v2_22.lid, 18);
  EXPECT_EQ(v2_22.fifo_rkey, 3u);
}

TEST(NcclQueuePair, Of2_27To2_28) {
  const NcclProcess process =
      LogText()
          .Info(
              "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 501 mtu 5 GID 3 (0/B9D4E80AFFFF0000) "
              "fifoRkey=0x1 fifoLkey=0x2")
          .Info(
              "NET/IB: IbDev 0 Port 1 qpn 501 query_ece={supported=1, vendor_id=0x15b3, "
              "options=0x0, comp_mask=0x0}")
          .Info(
              "NET/IB: IbDev 0 Port 1 qpn 501 set_ece={supported=1, vendor_id=0x15b3, "
              "options=0x0, comp_mask=0x0}")
          .Process();
  ASSERT_EQ(process.queue_pairs.size(), 1u);
  EXPECT_EQ(process.queue_pairs[0].address, kAddress);
  ASSERT_EQ(process.ece.size(), 1u);
  EXPECT_FALSE(process.ece[0].is_remote);
}

TEST(NcclQueuePair, Of2_29_2) {
  EXPECT_EQ(One("NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 501 mtu 5 GID 3 (0/B9D4E80AFFFF0000) "
                "ctsFifoRkey=0xabc ctsFifoLkey=0x2")
                .fifo_rkey,
            0xabcu);
}

constexpr std::string_view kSenderCreated =
    "NET/IB: ncclIbSenderQpsCreate: QP created: port=1 dev=0 devName=mlx5_0 ndevs=2 nmdevs=2 "
    "qp_num=600 pkey=0 pd=0x7f01";
constexpr std::string_view kReceiverCreated =
    "NET/IB: ncclIbReceiverQpsCreateToRts: QP created: port=1 dev=1 devName=mlx5_1 ndevs=2 "
    "nmdevs=2 qp_num=601 pkey=65535 pd=0x7f01 oooRq=0";

TEST(NcclQueuePair, Of2_29_7IsCreatedAndThenConnected) {
  const std::vector<NcclQueuePair> all =
      Of({kSenderCreated, kReceiverCreated,
          "NET/IB: ncclIbConnect: NCCL Dev 0 IbDev 0 Port 1 qp_num 600 mtu 5 GID 3 "
          "(0/B9D4E80AFFFF0000) ctsFifoRkey=0x11 ctsFifoLkey=0x12"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].local, Qpn{600});
  EXPECT_EQ(all[0].role, Role::kSend);
  EXPECT_EQ(all[0].line, 1u);
  EXPECT_EQ(all[0].device_name, "mlx5_0");
  EXPECT_EQ(all[0].address, kAddress);
  EXPECT_EQ(all[0].fifo_rkey, 0x11u);
  EXPECT_EQ(all[1].local, Qpn{601});
  EXPECT_EQ(all[1].role, Role::kReceive);
  EXPECT_EQ(all[1].device_name, "mlx5_1");
}

TEST(NcclQueuePair, Of2_30NamesFlushes) {
  EXPECT_EQ(One("NET/IB: ncclIbReceiverQpsCreateToRts: Flush QP created: port=1 dev=0 "
                "devName=mlx5_0 ndevs=1 nmdevs=1 qp_num=9 pkey=0 pd=0x1")
                .role,
            Role::kFlush);
}

TEST(NcclQueuePair, OfATraceNamesBothEnds) {
  const std::vector<NcclQueuePair> all =
      Of({"NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 7 mtu 5 GID 3 (0/B9D4E80AFFFF0000) fifoRkey=0x1 "
          "fifoLkey=0x2",
          "NET/IB : ncclIbRtrQp qpn=7 mtu=5 dst=70 ll=2 port=1",
          "NET/IB : ncclIbRtrQp qpn=8 mtu=5 dst=80 ll=2 port=1 sl: 0 tc: 106",
          "NET/IB : ncclIbRtrQp qpn=9 mtu=5 dst=9 ll=2 port=1 sl: 0 tc: 106"});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].remote, Qpn{70});
  EXPECT_EQ(all[0].role, Role::kSend);
  EXPECT_EQ(all[1].local, Qpn{8});
  EXPECT_EQ(all[1].remote, Qpn{80});
  EXPECT_EQ(all[1].role, Role::kReceive);
  EXPECT_EQ(all[2].role, Role::kFlush);  // connected to itself
}

TEST(NcclQueuePair, OfGinStatesRanksAndBothNumbers) {
  const NcclQueuePair main =
      One("[2] Connected main QP: qp_idx=5, main_qpn=0x2a1, remote_rank=5, remote_qpn=0x3b2");
  EXPECT_EQ(main.role, Role::kDeviceMain);
  EXPECT_EQ(main.own_rank, 2);
  EXPECT_EQ(main.local, Qpn{0x2a1});
  EXPECT_EQ(main.remote_rank, 5);
  EXPECT_EQ(main.remote, Qpn{0x3b2});
}

TEST(NcclQueuePair, ThatIsTruncatedIsCountedAndIgnored) {
  for (const std::string_view message :
       {"NET/IB: NCCL Dev 0 IbDev 0 Po", "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn ",
        "NET/IB: Dev 0 Port 1 qpn 37 mtu 3 GID 1 (0/19001EACFFFF0000",
        "NET/IB: Dev 0 Port 1 qpn 37 mtu 9 GID 1 (0/19001EACFFFF0000)",
        "NET/IB: Dev 0 Port 1 qpn 16777216 mtu 3 GID 1 (0/19001EACFFFF0000)",
        "NET/IB: f: QP created: port=1 dev=0 devName=mlx5_0 ndevs=2 nmdevs=2 qp_nu",
        "NET/IB : ncclIbRtrQp qpn=7 mtu=5 dst=", "[2] Connected main QP: qp_idx=5, main_qpn=0x"}) {
    const NcclLog log = LogText().Info(message).Parse();
    EXPECT_EQ(log.malformed, 1u) << message;
    EXPECT_TRUE(log.processes.at(0).queue_pairs.empty()) << message;
  }
}

TEST(NcclQueuePair, IgnoresOtherMessagesOfTheTransport) {
  const NcclLog log = LogText()
                          .Info("NET/IB : GPU Direct RDMA Disabled for HCA 0 'rxe0'")
                          .Info("NET/IB: Dev 0 is not usable")
                          .Info("NET/IB : No device found.")
                          .Info("NET/IB: ncclIbInit: something new")
                          .Parse();
  EXPECT_EQ(log.malformed, 0u);
  EXPECT_TRUE(log.processes[0].queue_pairs.empty());
}

}  // namespace
}  // namespace rocescope

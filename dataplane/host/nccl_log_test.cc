// SPDX-License-Identifier: BSD-3-Clause
// The lines are written by hand according to NCCL's format strings.
#include "dataplane/host/nccl_log.h"

#include <gtest/gtest.h>

#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::LogText;

NcclProcess Of(std::string_view message) { return LogText().Info(message).Process(); }

NcclCommunicator Communicator(std::string_view message) {
  const NcclProcess process = Of(message);
  return process.communicators.size() == 1 ? process.communicators[0] : NcclCommunicator{};
}

NcclChannel Channel(std::string_view message) {
  const NcclProcess process = Of(message);
  return process.channels.size() == 1 ? process.channels[0] : NcclChannel{};
}

NcclError ErrorOf(std::string_view message) {
  const NcclProcess process = Of(message);
  return process.errors.size() == 1 ? process.errors[0] : NcclError{};
}

IpAddress Address(std::string_view text) { return *ParseIpAddress(text); }

// --- Frames ---

struct FrameCase {
  std::string_view line;
  std::string_view host;
};

class Frame : public testing::TestWithParam<FrameCase> {};

TEST_P(Frame, IsFoundAfterAnyPrefix) {
  const NcclLog log = ParseNcclLog(std::string(GetParam().line) + "\n", "x");
  ASSERT_EQ(log.processes.size(), 1u);
  EXPECT_EQ(log.processes[0].host, GetParam().host);
  EXPECT_EQ(log.processes[0].process_id, 4889u);
  EXPECT_EQ(log.processes[0].oob_interface, "eth0");
  EXPECT_EQ(log.processes[0].oob_address, Address("10.0.0.7"));
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, Frame,
    testing::Values(
        FrameCase{"node0:4889:4908 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>", "node0"},
        FrameCase{"node0:4889:4908 [-1] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>", "node0"},
        FrameCase{"node0:4889:4908 [0] NCCL INFO Bootstrap : Using [0]eth0:10.0.0.7<0>", "node0"},
        FrameCase{"3: gpu-7:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>", "gpu-7"},
        FrameCase{"12:gpu-7:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>", "gpu-7"},
        FrameCase{"[1,3]<stdout>:gpu_7:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>",
                  "gpu_7"},
        FrameCase{"[default3]:a.b.c:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>",
                  "a.b.c"},
        FrameCase{"[2025-11-21 10:30:00] n1:4889:4908 [3] NCCL INFO Bootstrap : Using "
                  "eth0:10.0.0.7<0>",
                  "n1"},
        FrameCase{"10:30:00 n1:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>", "n1"},
        FrameCase{"step 7 done n1:4889:4908 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\r",
                  "n1"},
        FrameCase{"n1:4889:4908 [3] bootstrap.cc:12 NCCL WARN Bootstrap : Using eth0:10.0.0.7<0>",
                  "n1"},
        FrameCase{"[2025-11-21 10:30:00] n1:4889:4908 [3] bootstrap.cc:12 NCCL WARN Bootstrap : "
                  "Using eth0:10.0.0.7<0>",
                  "n1"},
        FrameCase{"n1:4889:4908 [3] 123.456 init:12 NCCL TRACE Bootstrap : Using eth0:10.0.0.7<0>",
                  "n1"}));

TEST(NcclLog, MayBeColouredAndEndInNuls) {
  using namespace std::string_view_literals;
  const NcclLog log = ParseNcclLog(
      "\x1b[36mnode0:4889:4908 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\x1b[0m\n"
      "node0:4889:4908 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 "
      "commId 0xabc - Init COMPLETE\0\n"sv,
      "x");
  ASSERT_EQ(log.processes.size(), 1u);
  EXPECT_EQ(log.processes[0].oob_address, Address("10.0.0.7"));
  ASSERT_EQ(log.processes[0].communicators.size(), 1u);
  EXPECT_EQ(log.processes[0].communicators[0].complete_line, 2u);
  EXPECT_EQ(log.malformed, 0u);
}

TEST(NcclLog, IgnoresOutputOfTheProgram) {
  const NcclLog log = ParseNcclLog(
      "epoch 3 loss 0.1\nI like NCCL INFO lines\nnode0:1 [0] NCCL INFO Using network IB\n"
      "node0:1:2 NCCL INFO Using network IB\n\n",
      "x");
  EXPECT_EQ(log.lines, 5u);
  EXPECT_EQ(log.messages, 0u);
  EXPECT_TRUE(log.processes.empty());
}

TEST(NcclLog, SeparatesProcessesOfOneFile) {
  const NcclLog log = ParseNcclLog(
      "a:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
      "b:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
      "a:2:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>\n"
      "a:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth1:10.0.0.4<0>\n",
      "x");
  ASSERT_EQ(log.processes.size(), 3u);
  EXPECT_EQ(log.processes[0].oob_interface, "eth1");
  EXPECT_EQ(log.processes[1].oob_address, Address("10.0.0.2"));
  EXPECT_EQ(log.processes[2].oob_address, Address("10.0.0.3"));
}

TEST(NcclLog, AMessageWithoutLineEndDoesNotHideTheNext) {
  const NcclLog log = ParseNcclLog(
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"
      "b:2:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0\n",
      "x");
  ASSERT_EQ(log.processes.size(), 2u);
  EXPECT_TRUE(log.processes[0].channels.empty());  // its device may be truncated
  EXPECT_EQ(log.processes[1].channels.size(), 1u);
  EXPECT_EQ(log.malformed, 1u);
}

TEST(NcclLog, TheVersionIsFoundBareAndFramed) {
  EXPECT_EQ(Of("NCCL version 2.27.3+cuda12.9").version, "2.27.3+cuda12.9");
  const NcclProcess bare =
      LogText().Info("Using network IB").Raw("0: NCCL version 2.20.5+cuda12.4").Process();
  EXPECT_EQ(bare.version, "2.20.5+cuda12.4");
}

// --- Devices ---

TEST(NcclDevices, AreReadWithTheirLinkLayer) {
  const NcclProcess process =
      Of("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_3:2/IB [2]mlx5_4:1/IB/SHARP [RO]; "
         "OOB ib0:fe80::1%ib0<0>");
  ASSERT_EQ(process.devices.size(), 3u);
  EXPECT_EQ(process.devices[0].name, "mlx5_0");
  EXPECT_EQ(process.devices[0].link_layer, "RoCE");
  EXPECT_EQ(process.devices[1].port, 2);
  EXPECT_EQ(process.devices[2].index, 2);
  EXPECT_EQ(process.devices[2].link_layer, "IB/SHARP");
  EXPECT_EQ(process.oob_interface, "ib0");
  EXPECT_EQ(process.oob_address, Address("fe80::1"));
}

TEST(NcclDevices, OfAMergedDeviceBelongToIt) {
  const NcclProcess process =
      Of("NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [1]mlx5_2:1/RoCE [RO]; "
         "OOB eth0:10.0.0.1<0>");
  ASSERT_EQ(process.devices.size(), 3u);
  EXPECT_EQ(process.devices[0].net_device, 0);
  EXPECT_EQ(process.devices[1].net_device, 0);
  EXPECT_EQ(process.devices[1].name, "mlx5_1");
  EXPECT_EQ(process.devices[2].net_device, -1);
}

TEST(NcclDevices, MayBeVirtual) {
  const NcclProcess process =
      Of("NET/IB : Made virtual device [4] name=mlx5_0+mlx5_1 speed=800000 ndevs=2");
  ASSERT_EQ(process.virtual_devices.size(), 1u);
  EXPECT_EQ(process.virtual_devices[0].net_device, 4);
  EXPECT_EQ(process.virtual_devices[0].name, "mlx5_0+mlx5_1");
  EXPECT_EQ(process.virtual_devices[0].speed, 800000);
  EXPECT_EQ(process.virtual_devices[0].device_count, 2);
}

// --- Communicators ---

TEST(NcclCommunicator, FromEachRelease) {
  const NcclCommunicator v2_8 =
      Communicator("comm 0x7f01 rank 3 nranks 8 cudaDev 3 busId 1b000 - Init COMPLETE");
  EXPECT_EQ(v2_8.pointer, 0x7f01u);
  EXPECT_EQ(v2_8.rank, 3);
  EXPECT_EQ(v2_8.rank_count, 8);
  EXPECT_EQ(v2_8.cuda_device, 3);
  EXPECT_EQ(v2_8.bus_id, 0x1b000u);
  EXPECT_FALSE(v2_8.comm_id);
  EXPECT_EQ(v2_8.begin_line, 0u);
  EXPECT_EQ(v2_8.complete_line, 1u);

  EXPECT_EQ(Communicator("comm 0x1 rank 3 nranks 8 cudaDev 3 busId 1b000 commId "
                         "0xfaa2a2b8f05d5e5 - Init COMPLETE")
                .comm_id,
            0xfaa2a2b8f05d5e5u);
  EXPECT_EQ(Communicator("comm 0x1 rank 3 nranks 8 cudaDev 3 nvmlDev 5 busId 1b000 commId 0x2 - "
                         "Init START")
                .nvml_device,
            5);
  EXPECT_EQ(Communicator("ncclCommInitRank comm 0x1 rank 3 nranks 8 cudaDev 3 nvmlDev 5 busId "
                         "1b000 commId 0x2 - Init START")
                .comm_id,
            2u);
  EXPECT_EQ(Communicator("[Rank 3] ncclCommInitRankConfig comm 0x1 rank 3 nranks 8 cudaDev 3 "
                         "nvmlDev 5 busId 1b000 commId 0x9 - Init START")
                .comm_id,
            9u);
}

TEST(NcclCommunicator, OfASplitNamesParentAndColor) {
  const NcclCommunicator v2_20 = Communicator(
      "comm 0x2 rank 1 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 parent 0x1 color 7 key 1 commId "
      "0x55 - Init START");
  ASSERT_TRUE(v2_20.split);
  EXPECT_EQ(v2_20.split->parent, 1u);
  EXPECT_EQ(v2_20.split->color, 7);
  EXPECT_EQ(v2_20.split->key, 1);
  EXPECT_EQ(v2_20.comm_id, 0x55u);

  // 2.24 to 2.28 count the parent's splits, 2.29 its children; START lacks a space.
  for (const std::string_view count : {"splitCount", "childCount"}) {
    const NcclCommunicator counted = Communicator(
        fmt::format("ncclCommSplit comm 0x2 rank 1 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 parent "
                    "0x1 {} 3 color -5 key 12- Init START",
                    count));
    ASSERT_TRUE(counted.split);
    EXPECT_EQ(counted.split->ordinal, 3);
    EXPECT_EQ(counted.split->color, -5);
    EXPECT_EQ(counted.split->key, 12);
    EXPECT_EQ(counted.begin_line, 1u);
  }
}

TEST(NcclCommunicator, LivesFromStartToDestroy) {
  const NcclProcess process =
      LogText()
          .On(77)
          .Begin(1, 4)
          .Info("comm 0x1000 rank 1 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0")
          .Complete(1, 4)
          .Info("comm 0x1000 rank 1 nranks 4 cudaDev 0 busId 1b000 - Destroy COMPLETE")
          .Begin(1, 4, "0xdef")
          .Info("comm 0x1000 rank 1 nranks 4 cudaDev 0 busId 1b000 - Abort COMPLETE")
          .Process();
  ASSERT_EQ(process.communicators.size(), 2u);
  const NcclCommunicator& first = process.communicators[0];
  EXPECT_EQ(first.thread_id, 77u);
  EXPECT_EQ(first.begin_line, 1u);
  EXPECT_EQ(first.complete_line, 3u);
  EXPECT_EQ(first.end_line, 4u);
  EXPECT_FALSE(first.aborted);
  EXPECT_EQ(first.node_count, 2);
  EXPECT_EQ(first.local_rank_count, 2);
  EXPECT_EQ(first.local_rank, 1);
  const NcclCommunicator& second = process.communicators[1];  // at the same address
  EXPECT_EQ(second.comm_id, 0xdefu);
  EXPECT_EQ(second.complete_line, 0u);
  EXPECT_TRUE(second.aborted);
}

TEST(NcclCommunicator, PciAddressIsUnpacked) {
  // domain << 20 | bus << 12 | device << 4 | function
  EXPECT_EQ(FormatPciAddress(0x80), "0000:00:08.0");
  EXPECT_EQ(FormatPciAddress(0x1b000), "0000:1b:00.0");
  EXPECT_EQ(FormatPciAddress(2ull << 20 | 0xab << 12 | 0x1f << 4 | 7), "0002:ab:1f.7");
}

// --- Channels ---

TEST(NcclChannel, FromEachRelease) {
  const NcclChannel v2_8 = Channel("Channel 03 : 5[1b000] -> 12[89000] [send] via NET/IB/2");
  EXPECT_EQ(v2_8.channel, 3);
  EXPECT_EQ(v2_8.connection, 0);
  EXPECT_EQ(v2_8.source_rank, 5);
  EXPECT_EQ(v2_8.destination_rank, 12);
  EXPECT_TRUE(v2_8.is_send);
  EXPECT_EQ(v2_8.net, "IB");
  EXPECT_EQ(v2_8.net_device, 2);
  EXPECT_FALSE(v2_8.gpu_direct);

  const NcclChannel v2_12 =
      Channel("Channel 11/1 : 5[1b000] -> 12[89000] [receive] via NET/IBext_v8/2/GDRDMA");
  EXPECT_EQ(v2_12.channel, 11);
  EXPECT_EQ(v2_12.connection, 1);
  EXPECT_FALSE(v2_12.is_send);
  EXPECT_EQ(v2_12.net, "IBext_v8");
  EXPECT_TRUE(v2_12.gpu_direct);

  const NcclChannel proxied =
      Channel("Channel 00/0 : 5[5] -> 12[4] [send] via NET/IB/2(4)/GDRDMA/Shared");
  EXPECT_EQ(proxied.proxy_rank, 4);
  EXPECT_TRUE(proxied.shared);

  const NcclChannel v2_26 = Channel("Channel 00/0 : 5[5] -> 12[4] [send] via NET/IB/2/GDRDMA(PCI)");
  EXPECT_EQ(v2_26.proxy_rank, -1);
  EXPECT_TRUE(v2_26.gpu_direct);
  EXPECT_EQ(Channel("Channel 00/0 : 5[5] -> 12[4] [send] via NET/AWS Libfabric/0").net,
            "AWS Libfabric");
}

TEST(NcclChannel, IgnoresRingsAndLocalTransports) {
  const NcclLog log = LogText()
                          .Info("Channel 00/01 :    0   1   2")
                          .Info("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC")
                          .Info("Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct")
                          .Info("Channel 00/0 : 0[0] -> 1[0] [send] via COLLNET/SHARP/0")
                          .Parse();
  EXPECT_TRUE(log.processes[0].channels.empty());
  EXPECT_EQ(log.malformed, 0u);
}

TEST(NcclProxy, ConnectionsContainTheRequester) {
  const NcclProcess process =
      LogText()
          .Info("New proxy send connection 3 from local rank 5, transport 2")
          .Info("New proxy recv connection 4 from local rank 1, transport 0")
          .Process();
  ASSERT_EQ(process.proxy_connections.size(), 2u);
  EXPECT_TRUE(process.proxy_connections[0].is_send);
  EXPECT_EQ(process.proxy_connections[0].local_rank, 5);
  EXPECT_EQ(process.proxy_connections[0].transport, 2);
  EXPECT_FALSE(process.proxy_connections[1].is_send);
}

// --- Errors ---

TEST(NcclError, CompletionsFromEachRelease) {
  const NcclError v2_18 = ErrorOf(
      "NET/IB : Got completion from peer 10.0.0.2<43210> with error 12, opcode 129, len 0, vendor "
      "err 129 (Send) localGid ::ffff:10.0.0.1 remoteGid ::ffff:10.0.0.2");
  EXPECT_EQ(v2_18.kind, NcclErrorKind::kCompletion);
  EXPECT_EQ(v2_18.peer, "10.0.0.2<43210>");
  EXPECT_EQ(v2_18.status, 12);
  EXPECT_EQ(v2_18.vendor_error, 129u);
  EXPECT_EQ(v2_18.local_address, Address("10.0.0.1"));
  EXPECT_EQ(v2_18.remote_address, Address("10.0.0.2"));

  const NcclError v2_22 = ErrorOf(
      "NET/IB : Got completion from peer 10.0.0.2<43210> with status=5 opcode=1 len=64 vendor err "
      "249 (Recv) localGid fe80::1 remoteGidsfe80::2 hca mlx5_3");
  EXPECT_EQ(v2_22.status, 5);
  EXPECT_EQ(v2_22.vendor_error, 249u);
  EXPECT_EQ(v2_22.remote_address, Address("fe80::2"));
  EXPECT_EQ(v2_22.device, "mlx5_3");

  const NcclError v2_30 = ErrorOf(
      "NET/IB: Got completion from peer 10.0.0.2<43210> with status=IBV_WC_RETRY_EXC_ERR(12) "
      "opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 (Send) hca mlx5_0");
  EXPECT_EQ(v2_30.status, 12);
  EXPECT_EQ(v2_30.vendor_error, 129u);
  EXPECT_EQ(v2_30.device, "mlx5_0");
}

TEST(NcclError, EventsNameTheDeviceOrTheQueuePair) {
  const NcclError cqe = ErrorOf(
      "NET/IB: Got CQE with error (devIndex=0, req=0x7f, comm=0x55 (Send), wr_id=9, qp_num=4711)");
  EXPECT_EQ(cqe.kind, NcclErrorKind::kQueuePair);
  EXPECT_EQ(cqe.local, Qpn{4711});

  const NcclError event =
      ErrorOf("NET/IB : mlx5_0:1 async fatal event on QP (0x7f01): local access violation");
  EXPECT_EQ(event.kind, NcclErrorKind::kAsynchronous);
  EXPECT_EQ(event.device, "mlx5_0:1");
  EXPECT_FALSE(event.local);
}

TEST(NcclError, IsKeptIfItsLineIsTruncated) {
  const NcclLog log =
      LogText().Info("NET/IB : Got completion from peer 10.0.0.2<43210> with err").Parse();
  EXPECT_EQ(log.malformed, 1u);
  EXPECT_EQ(log.processes[0].errors.size(), 1u);
}

// Output of programs may be in any encoding.
TEST(NcclError, IsValidUtf8) {
  const NcclError error = ErrorOf(
      "NET/IB : Got completion from peer 10.0.0.\xff<43210> with error 12, opcode 129, len 0, "
      "vendor err 129 (Send) hca mlx\xe2\x82");
  EXPECT_EQ(error.peer, "10.0.0.?<43210>");
  EXPECT_EQ(error.device, "mlx??");
  const std::string begin = "NET/IB : mlx5_0:1 async fatal event on QP ";
  const NcclError cut = ErrorOf(begin + std::string(511 - begin.size(), 'x') + "\xe2\x82\xac");
  EXPECT_EQ(cut.text.size(), 511u) << "of at most 512 bytes";
}

// --- Bad input ---

TEST(NcclLog, CountsAndReportsMalformedLines) {
  const NcclLog log = LogText()
                          .Info("Using network IB")
                          .Info("comm 0x1 rank 9 nranks 8 cudaDev 0 busId 0 - Init COMPLETE")
                          .Info("Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/x")
                          .Info("comm 0x1 rank 0 nranks 8 cudaDev 0 busId 0 - Init COM")
                          .Parse();
  ASSERT_EQ(log.malformed, 3u);
  EXPECT_EQ(log.notes[0].line, 2u);
  EXPECT_EQ(log.notes[0].expected, "a rank below the number of ranks");
  EXPECT_EQ(log.notes[1].line, 3u);
  EXPECT_EQ(log.notes[1].expected, "a number from 0 to 65536 after \"/\"");
  EXPECT_EQ(log.notes[2].line, 4u);
}

TEST(NcclLog, NotesAreBounded) {
  LogText text;
  for (size_t i = 0; i < 2 * kMaxNcclLogNotes; ++i) text.Info("Channel 00/0 : 0[0] -> 1");
  const NcclLog log = text.Parse();
  EXPECT_EQ(log.malformed, 2 * kMaxNcclLogNotes);
  EXPECT_EQ(log.notes.size(), kMaxNcclLogNotes);
}

TEST(NcclLog, ReadsOverLongLinesUpToTheLimit) {
  const NcclLog log = ParseNcclLog("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via " +
                                       std::string(1 << 20, 'x') + "\n",
                                   "x");
  EXPECT_EQ(log.over_long, 1u);
}

TEST(NcclLog, IgnoresTheLinesOfSingleDevices) {
  // From 2.24 on, with the name of the device file, which the list of devices omits.
  const NcclLog log =
      LogText()
          .Info(
              "NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x55 "
              "pciPath=/sys/devices/pci0000:15/0000:19:00.0 ar=0")
          .Info("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>")
          .Parse();
  EXPECT_EQ(log.malformed, 0u);
  ASSERT_EQ(log.processes.at(0).devices.size(), 1u);
  EXPECT_EQ(log.processes[0].devices[0].name, "mlx5_0");
  EXPECT_EQ(log.processes[0].devices[0].port, 1);
}

// --- In pieces ---

TEST(NcclLogReader, GivesTheSameResultForPieces) {
  LogText text("node7", 9);
  text.Raw("NCCL version 2.20.5+cuda12.4").Begin(1, 4).Connect(300).Send(1, 2).Complete(1, 4);
  NcclLogReader reader("node7.log");
  std::string rest = text.text();
  while (!rest.empty()) {
    const size_t end = rest.find('\n') + 1;
    const std::string line = rest.substr(0, end);  // freed before the next one is read
    reader.Read(line);
    rest.erase(0, end);
  }
  const NcclLog log = reader.Log();
  EXPECT_EQ(log.lines, 5u);
  EXPECT_EQ(log.messages, 4u);
  ASSERT_EQ(log.processes.size(), 1u);
  const NcclProcess& process = log.processes[0];
  EXPECT_EQ(process.host, "node7");
  EXPECT_EQ(process.version, "2.20.5+cuda12.4");
  ASSERT_EQ(process.communicators.size(), 1u);
  EXPECT_EQ(process.communicators[0].rank, 1);
  EXPECT_EQ(process.communicators[0].complete_line, 5u);
  ASSERT_EQ(process.queue_pairs.size(), 1u);
  EXPECT_EQ(process.queue_pairs[0].local, Qpn{300});
}

TEST(NcclLogReader, ContinuesAfterAnAnswer) {
  NcclLogReader reader("log");
  reader.Read(LogText().Begin(0, 2).text());
  EXPECT_EQ(reader.Log().processes.at(0).communicators.at(0).complete_line, 0u);
  reader.Read(LogText().Complete(0, 2).text());
  EXPECT_EQ(reader.Log().processes.at(0).communicators.at(0).complete_line, 2u);
}

}  // namespace
}  // namespace rocescope

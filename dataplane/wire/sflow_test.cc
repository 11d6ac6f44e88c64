// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/sflow.h"

#include <gtest/gtest.h>

#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::Encoded;
using test::ExpectGolden;
using test::ExpectShortReadsFail;
using Bytes = std::vector<uint8_t>;

TEST(SflowTag, HasTheEnterpriseAboveTheFormat) {
  EXPECT_EQ(kSflowGpu, 0x01647001u) << "5703 << 12 | 1";
  EXPECT_EQ(SflowEnterprise(kSflowGpu), 5703u);
  EXPECT_EQ(SflowFormat(kSflowGpu), 1u);
}

TEST(SflowDatagram, MatchesTheSpecification) {
  const Bytes golden = {
      0x00, 0x00, 0x00, 0x05,  // version
      0x00, 0x00, 0x00, 0x01,  // address type: IPv4
      0x0a, 0x00, 0x00, 0x05,  // agent 10.0.0.5
      0x00, 0x00, 0x00, 0x02,  // sub-agent
      0x00, 0x00, 0x01, 0x00,  // sequence number
      0x00, 0x01, 0x86, 0xa0,  // uptime, 100,000 ms
      0x00, 0x00, 0x00, 0x03,  // samples
  };
  const SflowDatagramHeader header = {.agent = IpAddress::FromV4(0x0a000005),
                                      .sub_agent = 2,
                                      .sequence = 256,
                                      .uptime_ms = 100'000,
                                      .samples = 3};
  ExpectGolden(header, golden);
  ExpectShortReadsFail<SflowDatagramHeader>(golden);
}

TEST(SflowDatagram, TakesIpv6AgentsAndRefusesOthers) {
  SflowDatagramHeader header = {.agent = *ParseIpAddress("fd00::5")};
  Bytes bytes = Encoded(header);
  EXPECT_EQ(bytes.size(), SflowDatagramHeader::kSize + 12);
  EXPECT_EQ(bytes[7], 2u);
  EXPECT_EQ(test::Decoded<SflowDatagramHeader>(bytes).agent, header.agent);
  bytes[7] = 3;
  ByteReader in(bytes);
  Read(in, header);
  EXPECT_FALSE(in.ok());
}

TEST(SflowDatagram, OfAnotherVersionSaysItsVersionAlone) {
  const Bytes bytes = {0x00, 0x00, 0x00, 0x04, 0xff, 0xff, 0xff, 0xff};
  ByteReader in(bytes);
  SflowDatagramHeader header;
  Read(in, header);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(header.version, 4u);
}

const SflowFlowSample kFlow = {.sequence = 9,
                               .source = {.source_class = 0, .index = 17},
                               .sampling_rate = 4096,
                               .sample_pool = 36864,
                               .drops = 1,
                               .input = {.format = 0, .value = 17},
                               .output = {.format = 2, .value = 5},
                               .records = 2};

TEST(SflowFlowSample, MatchesTheSpecification) {
  const Bytes golden = {
      0x00,        0x00, 0x00, 0x09,  // sequence number
      0x00,        0x00, 0x00, 0x11,  // source: class 0, ifIndex 17
      0x00,        0x00, 0x10, 0x00,  // sampling rate
      0x00,        0x00, 0x90, 0x00,  // sample pool
      0x00,        0x00, 0x00, 0x01,  // drops
      0x00,        0x00, 0x00, 0x11,  // input: format 0, ifIndex 17
      0b10'000000, 0x00, 0x00, 0x05,  // output: format 2, 5 interfaces
      0x00,        0x00, 0x00, 0x02,  // records
  };
  ExpectGolden(kFlow, golden);
  ExpectShortReadsFail<SflowFlowSample>(golden);
}

TEST(SflowFlowSample, HasRoomForLargeNumbersWhereItIsExpanded) {
  SflowFlowSample sample = kFlow;
  sample.expanded = true;
  sample.source.index = 0x0a000001;  // more than 24 bits
  const Bytes bytes = Encoded(sample);
  ASSERT_EQ(bytes.size(), SflowFlowSample::kExpandedSize);
  EXPECT_EQ(Bytes(bytes.begin() + 4, bytes.begin() + 12), (Bytes{0, 0, 0, 0, 0x0a, 0, 0, 1}));
  EXPECT_EQ(Bytes(bytes.end() - 12, bytes.end() - 4), (Bytes{0, 0, 0, 2, 0, 0, 0, 5}));
  ByteReader in(bytes);
  SflowFlowSample read = {.expanded = true};
  Read(in, read);
  EXPECT_EQ(read.source.index, 0x0a000001u);
  EXPECT_EQ(read.output.format, 2u);
  EXPECT_EQ(read.output.value, 5u);
}

TEST(SflowCounterSample, MatchesTheSpecification) {
  const Bytes golden = {
      0x00, 0x00, 0x00, 0x09,  // sequence number
      0x02, 0x00, 0x00, 0x11,  // source: class 2, index 17
      0x00, 0x00, 0x00, 0x02,  // records
  };
  ExpectGolden(
      SflowCounterSample{.sequence = 9, .source = {.source_class = 2, .index = 17}, .records = 2},
      golden);
  ExpectShortReadsFail<SflowCounterSample>(golden);
}

TEST(SflowDiscardedPacket, MatchesTheSpecification) {
  const Bytes golden = {
      0x00, 0x00, 0x00, 0x09,  // sequence number
      0x00, 0x00, 0x00, 0x00,  // source: class
      0x00, 0x00, 0x00, 0x11,  // and index
      0x00, 0x00, 0x00, 0x03,  // drops
      0x00, 0x00, 0x00, 0x11,  // input ifIndex
      0x00, 0x00, 0x00, 0x12,  // output ifIndex
      0x00, 0x00, 0x01, 0x03,  // reason 259: no buffer space
      0x00, 0x00, 0x00, 0x01,  // records
  };
  ExpectGolden(SflowDiscardedPacket{.sequence = 9,
                                    .source = {.index = 17},
                                    .drops = 3,
                                    .input = 17,
                                    .output = 18,
                                    .reason = kSflowDropNoBufferSpace,
                                    .records = 1},
               golden);
  ExpectShortReadsFail<SflowDiscardedPacket>(golden);
}

TEST(SflowSampledHeader, MatchesTheSpecification) {
  const Bytes golden = {
      0x00, 0x00, 0x00, 0x01,                          // protocol: Ethernet
      0x00, 0x00, 0x05, 0xee,                          // frame length 1518, with FCS
      0x00, 0x00, 0x00, 0x04,                          // stripped
      0x00, 0x00, 0x00, 0x06,                          // header length
      0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x00, 0x00,  // header, padded
  };
  const Bytes front = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Encoded(SflowSampledHeader{.frame_length = 1518, .stripped = 4, .bytes = front}),
            golden);
  ByteReader in(golden);
  SflowSampledHeader header;
  Read(in, header);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(header.frame_length, 1518u);
  EXPECT_EQ(Bytes(header.bytes.begin(), header.bytes.end()), front);
}

TEST(SflowFlowRecords, MatchTheSpecification) {
  const Bytes switch_record = {
      0, 0, 0, 10, 0, 0, 0, 3,  // source VLAN and priority
      0, 0, 0, 20, 0, 0, 0, 4,  // destination VLAN and priority
  };
  ExpectGolden(SflowSwitchRecord{.source_vlan = 10,
                                 .source_priority = 3,
                                 .destination_vlan = 20,
                                 .destination_priority = 4},
               switch_record);
  ExpectShortReadsFail<SflowSwitchRecord>(switch_record);
  const Bytes router_record = {
      0, 0, 0, 1,  10, 0, 0, 9,   // next hop: IPv4 10.0.0.9
      0, 0, 0, 24, 0,  0, 0, 16,  // source and destination mask
  };
  ExpectGolden(
      SflowRouterRecord{
          .next_hop = IpAddress::FromV4(0x0a000009), .source_prefix = 24, .destination_prefix = 16},
      router_record);
  ExpectShortReadsFail<SflowRouterRecord>(router_record);
  ExpectGolden(SflowWordRecord{.value = 839'660'224}, {0x32, 0x0c, 0x32, 0xc0});
}

// A record whose fields are numbered 1, 2, 3 ... lies on the wire as these numbers, each as wide as
// the specification has it.
template <typename Record>
void ExpectFields(const std::vector<size_t>& widths) {
  Record record;
  uint32_t next = 0;
  Record::kFields(record, [&next](std::string_view, auto& field) { field = ++next; });
  Bytes golden;
  for (size_t i = 0; i < widths.size(); ++i) {
    golden.resize(golden.size() + widths[i]);
    golden.back() = static_cast<uint8_t>(i + 1);
  }
  ExpectGolden(record, golden);
  ExpectShortReadsFail<Record>(golden);
}

TEST(SflowCounterRecords, HaveTheWidthsOfTheSpecification) {
  // if_counters: ifSpeed, ifInOctets and ifOutOctets are hypers.
  ExpectFields<SflowInterfaceRecord>({4, 4, 8, 4, 4, 8, 4, 4, 4, 4, 4, 4, 8, 4, 4, 4, 4, 4, 4});
  ExpectFields<SflowEthernetRecord>(std::vector<size_t>(13, 4));
  ExpectFields<SflowCpuRecord>(std::vector<size_t>(17, 4));
  ExpectFields<SflowMemoryRecord>({8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4});
  ExpectFields<SflowNetworkRecord>({8, 4, 4, 4, 8, 4, 4, 4});
  ExpectFields<SflowGpuRecord>({4, 4, 4, 4, 8, 8, 4, 4, 4, 4});
}

TEST(SflowInterfaceRecord, HasItsFieldsInTheOrderOfTheSpecification) {
  SflowInterfaceRecord record = {.index = 17, .in_octets = 1ull << 40, .in_discards = 5};
  record.out_octets = 3;
  const Bytes bytes = Encoded(record);
  EXPECT_EQ(bytes[3], 17u) << "ifIndex";
  EXPECT_EQ(bytes[26], 1u) << "ifInOctets at 24";
  EXPECT_EQ(bytes[47], 5u) << "ifInDiscards at 44";
  EXPECT_EQ(bytes[63], 3u) << "ifOutOctets at 56";
}

TEST(SflowHostRecord, MatchesTheSpecification) {
  Bytes golden = {
      0x00, 0x00, 0x00, 0x05,                         // hostname: 5 octets
      'g',  'p',  'u',  '-',  '7', 0x00, 0x00, 0x00,  // padded
  };
  for (uint8_t i = 0; i < 16; ++i) golden.push_back(i);  // UUID
  golden.insert(golden.end(), {
                                  0x00,
                                  0x00,
                                  0x00,
                                  0x03,  // machine type: x86_64
                                  0x00,
                                  0x00,
                                  0x00,
                                  0x02,  // OS: Linux
                                  0x00,
                                  0x00,
                                  0x00,
                                  0x04,  // release
                                  '6',
                                  '.',
                                  '1',
                                  '0',
                              });
  SflowHostRecord host = {.name = "gpu-7", .machine = 3, .system = 2, .release = "6.10"};
  for (uint8_t i = 0; i < 16; ++i) host.uuid[i] = i;
  ExpectGolden(host, golden);
  ExpectShortReadsFail<SflowHostRecord>(golden);
}

TEST(SflowWriter, WorksOutNumbersAndLengths) {
  const Bytes front = {1, 2, 3};
  std::array<uint8_t, 256> room{};
  SflowWriter writer(room, {.agent = IpAddress::FromV4(1), .sequence = 7});
  writer.BeginSample(kSflowExpandedFlowSample, SflowFlowSample{.expanded = true});
  writer.AddRecord(kSflowSampledHeader, SflowSampledHeader{.bytes = front});
  writer.AddRecord(kSflowQueueDepth, SflowWordRecord{.value = 4096});
  writer.BeginSample(kSflowCounterSample, SflowCounterSample{});
  ByteReader in(writer.Finish());
  SflowDatagramHeader header;
  Read(in, header);
  EXPECT_EQ(header.samples, 2u);
  SflowBlock block;
  Read(in, block);
  EXPECT_EQ(block.tag, kSflowExpandedFlowSample);
  EXPECT_EQ(block.length, 44u + 8 + 20 + 8 + 4);
  ByteReader body(in.Bytes(block.length));
  SflowFlowSample sample = {.expanded = true};
  Read(body, sample);
  EXPECT_EQ(sample.records, 2u);
  Read(body, block);
  EXPECT_EQ(block.length, 20u) << "with padding";
  Read(in, block);
  EXPECT_EQ(block.tag, kSflowCounterSample);
  EXPECT_EQ(block.length, 12u);
  in.Skip(block.length);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(SflowWriter, GivesNothingIfTheDatagramDoesNotFit) {
  std::array<uint8_t, 40> room{};
  SflowWriter writer(room, {});
  writer.BeginSample(kSflowCounterSample, SflowCounterSample{});
  writer.AddRecord(kSflowQueueDepth, SflowWordRecord{});
  EXPECT_TRUE(writer.Finish().empty());
}

}  // namespace
}  // namespace rocescope::wire

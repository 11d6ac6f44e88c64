// SPDX-License-Identifier: BSD-3-Clause
// Writes the seeds of int_report_fuzz.cc and sflow_fuzz.cc to FOLDER/int_report and FOLDER/sflow.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "dataplane/wire/int_report.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

using namespace wire;

bool failed = false;

void Save(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.put(0);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  failed |= !file.good();
}

Bytes Packet() {
  return RoceFrame().Bth({.opcode = 0x07, .destination_qpn = {17}}).Payload(64).Snap(80).Build();
}

// A packet that carries the metadata of one hop itself.
Bytes StackedPacket() {
  const IntMdHeader header = {.hop_words = 2, .instructions = kIntNodeId | kIntQueue};
  Bytes stack(IntShim::kSize + IntMdHeader::kSize + 8);
  ByteWriter out(stack);
  Write(
      out,
      IntShim{.next_protocol = IntShim::kUdpPayload, .length_words = 5, .original = kUdpPortRoce});
  Write(out, header);
  WriteIntHop(out, header, {.present = header.instructions, .node_id = 9});
  const Bytes plain = Packet();
  return Frame()
      .Eth()
      .Ipv4("10.0.0.1", "10.0.0.2")
      .Udp(49152, 555)
      .Payload(stack)
      .Payload(std::span(plain).subspan(42))
      .Build();
}

void SaveReport(const std::filesystem::path& path, uint16_t bits, IntReportHeader header,
                const Bytes& inner) {
  Bytes room(1024);
  ByteWriter out(room);
  Write(out, IntReportGroupHeader{.hardware_id = 1, .sequence = 2, .node_id = 3});
  IntReport report;
  report.header = header;
  report.main.metadata_bits = bits;
  report.metadata.present = bits;
  report.metadata.ingress_timestamp = 1'700'000'000'000'000'000 - 500;
  report.inner = inner;
  WriteIntReport(out, report);
  WriteIntReport(out, report);
  Save(path, std::span(room).first(out.offset()));
}

void SaveReports(const std::filesystem::path& folder) {
  const uint8_t ethernet = kIntInnerEthernet;
  SaveReport(folder / "postcard", 0x7f80, {.inner_type = ethernet, .tracked = true}, Packet());
  SaveReport(folder / "stacked", 0x5000, {.inner_type = ethernet}, StackedPacket());
  SaveReport(folder / "inner_only", 0, {.type = kIntReportInnerOnly, .inner_type = ethernet},
             StackedPacket());
  SaveReport(folder / "drop", 0x0801, {.dropped = true}, {});
  SaveReport(folder / "everything", 0xffff, {.inner_type = kIntInnerTlv}, {0x10, 1, 0, 0, 1, 2, 3});
}

void SaveSflow(const std::filesystem::path& folder) {
  const Bytes packet = Packet();
  const SflowSampledHeader header = {.frame_length = 1000, .bytes = packet};
  Bytes room(1024);
  SflowWriter flows(room, {.agent = IpAddress::FromV4(1), .sequence = 1});
  flows.BeginSample(kSflowFlowSample, SflowFlowSample{.sampling_rate = 10});
  flows.AddRecord(kSflowSampledHeader, header);
  flows.AddRecord(kSflowExtendedSwitch, SflowSwitchRecord{.source_vlan = 5});
  flows.BeginSample(kSflowExpandedFlowSample, SflowFlowSample{.expanded = true});
  flows.AddRecord(kSflowTransitDelay, SflowWordRecord{.value = 5});
  flows.AddRecord(kSflowQueueDepth, SflowWordRecord{.value = 5});
  flows.BeginSample(kSflowDiscardedPacket, SflowDiscardedPacket{.reason = 259});
  flows.AddRecord(kSflowSampledHeader, header);
  Save(folder / "flows", flows.Finish());

  SflowWriter counters(room, {.agent = *ParseIpAddress("fd00::1"), .sequence = 1});
  counters.BeginSample(kSflowCounterSample, SflowCounterSample{});
  counters.AddRecord(kSflowInterfaceCounters, SflowInterfaceRecord{});
  counters.AddRecord(kSflowEthernetCounters, SflowEthernetRecord{});
  counters.BeginSample(kSflowExpandedCounterSample, SflowCounterSample{.expanded = true});
  counters.AddRecord(kSflowHostDescription, SflowHostRecord{.name = "host", .release = "6"});
  counters.AddRecord(kSflowHostCpu, SflowCpuRecord{});
  counters.AddRecord(kSflowHostMemory, SflowMemoryRecord{});
  counters.AddRecord(kSflowHostNetwork, SflowNetworkRecord{});
  counters.AddRecord(kSflowGpu, SflowGpuRecord{});
  counters.BeginSample(SflowTag(4300, 1002), SflowCounterSample{});
  Save(folder / "counters", counters.Finish());
}

}  // namespace
}  // namespace rocescope::test

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_telemetry_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  rocescope::test::SaveReports(folder / "int_report");
  rocescope::test::SaveSflow(folder / "sflow");
  if (!rocescope::test::failed) return 0;
  fmt::print(stderr, "make_telemetry_seeds: cannot write to the directories in {}\n", argv[1]);
  return 1;
}

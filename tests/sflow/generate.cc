// SPDX-License-Identifier: BSD-3-Clause
// Prints the sFlow datagrams of our writer, one per line, in hexadecimal. readers_test.py repeats
// the constants and compares them with what other programs read.
#include <fmt/format.h>

#include <array>
#include <string>

#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

using namespace wire;

constexpr uint32_t kDatagrams = 10;
constexpr uint32_t kSamples = 3;  // flow samples in each datagram

void AddFlowSample(uint32_t n, SflowWriter& writer) {
  const Bytes front = RoceFrame(fmt::format("10.0.0.{}", n + 1), fmt::format("10.0.1.{}", n + 1))
                          .Bth({.opcode = 0x07, .destination_qpn = {17}, .psn = n})
                          .Payload(900)
                          .Snap(128)
                          .Build();
  const bool expanded = n % 2 == 1;
  writer.BeginSample(expanded ? kSflowExpandedFlowSample : kSflowFlowSample,
                     SflowFlowSample{.expanded = expanded,
                                     .sequence = n + 1,
                                     .source = {.index = 100 + n},
                                     .sampling_rate = 1000,
                                     .sample_pool = 1000 * (n + 1),
                                     .input = {.value = 100 + n},
                                     .output = {.value = 200 + n}});
  // In the order of real switches: the packet record is last.
  writer.AddRecord(kSflowEgressQueue, SflowWordRecord{.value = 3});
  writer.AddRecord(kSflowQueueDepth, SflowWordRecord{.value = 4096});
  writer.AddRecord(kSflowTransitDelay, SflowWordRecord{.value = 800});
  writer.AddRecord(kSflowExtendedSwitch,
                   SflowSwitchRecord{.source_vlan = 12, .destination_vlan = 34});
  writer.AddRecord(kSflowExtendedRouter,
                   SflowRouterRecord{.next_hop = IpAddress::FromV4(0x0a0000fe)});
  writer.AddRecord(kSflowSampledHeader,
                   SflowSampledHeader{.frame_length = 1000 + n, .stripped = 4, .bytes = front});
}

// Records that the tools do not support and must skip.
void AddOthers(uint32_t sequence, SflowWriter& writer) {
  writer.BeginSample(kSflowCounterSample,
                     SflowCounterSample{.sequence = sequence, .source = {.index = 7}});
  writer.AddRecord(kSflowInterfaceCounters, SflowInterfaceRecord{.index = 7});
  writer.AddRecord(kSflowEthernetCounters, SflowEthernetRecord{});
  writer.BeginSample(kSflowExpandedCounterSample,
                     SflowCounterSample{.expanded = true, .sequence = sequence});
  writer.AddRecord(kSflowHostDescription, SflowHostRecord{.name = "gpu-7", .release = "6.1"});
  writer.AddRecord(kSflowHostCpu, SflowCpuRecord{});
  writer.AddRecord(kSflowHostMemory, SflowMemoryRecord{});
  writer.AddRecord(kSflowHostNetwork, SflowNetworkRecord{});
  writer.AddRecord(kSflowGpu, SflowGpuRecord{});
}

}  // namespace
}  // namespace rocescope::test

int main() {
  using namespace rocescope;
  for (uint32_t i = 0; i < test::kDatagrams; ++i) {
    std::array<uint8_t, 1400> room{};
    wire::SflowWriter writer(
        room,
        {.agent = IpAddress::FromV4(0xc0000207), .sequence = i + 1, .uptime_ms = 1000 * (i + 1)});
    if (i % 2 == 1) test::AddOthers(i / 2 + 1, writer);
    for (uint32_t n = 0; n < test::kSamples; ++n) {
      test::AddFlowSample(i * test::kSamples + n, writer);
    }
    const std::span<const uint8_t> datagram = writer.Finish();
    if (datagram.empty()) return 1;
    for (const uint8_t octet : datagram) fmt::print("{:02x}", octet);
    fmt::print("\n");
  }
  return 0;
}

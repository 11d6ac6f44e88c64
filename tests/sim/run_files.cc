// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/run_files.h"

#include <algorithm>
#include <fstream>
#include <span>

#include "base/time.h"
#include "dataplane/run/counter_line.h"
#include "dataplane/source/capture.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/mirror.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/sflow.h"
#include "dataplane/wire/sflow_counter_record.h"

namespace rocescope::sim::test {
namespace {

constexpr size_t kEthernet = 14;
constexpr size_t kIpv4 = 20;
constexpr size_t kUdp = 8;
constexpr size_t kSourceAddress = kEthernet + 12;

template <typename Visit>
void ForEachFrame(const std::string& path, const Visit& visit) {
  auto capture = OpenCapture(path);
  if (!capture) return;
  std::vector<RawFrame> batch(kBatchFrames);
  for (;;) {
    const auto count = (*capture)->ReadBatch(batch);
    if (!count || *count == 0) return;
    for (const RawFrame& frame : std::span(batch).first(*count)) visit(frame.bytes);
  }
}

// Fields of an Ethernet frame with IPv4 (RFC 791): traffic class in byte 1 with ECN in its low two
// bits, total length in bytes 2 and 3.
void AddFrame(std::span<const uint8_t> frame, FrameSums& sums) {
  if (frame.size() < kEthernet + kIpv4) return;
  ++sums.frames;
  constexpr uint64_t kShortest = 60;  // an Ethernet frame without FCS is padded to this length
  sums.bytes +=
      std::max(kShortest, kEthernet + wire::LoadBigEndian<uint16_t>(&frame[kEthernet + 2]));
  sums.ce_marked += (frame[kEthernet + 1] & 3) == 3;
}

}  // namespace

RunFiles::RunFiles(const topology::Fabric& the_fabric)
    : fabric(the_fabric),
      mirrored(fabric.ports().size()),
      reported_in(fabric.ports().size()),
      reported(fabric.ports().size()),
      samples(fabric.ports().size()),
      counters(fabric.ports().size()) {}

void RunFiles::ReadMirror(const std::string& path) {
  ForEachFrame(path, [&](std::span<const uint8_t> frame) {
    wire::ByteReader in(frame);
    in.Skip(kSourceAddress);
    const topology::NodeIndex node = fabric.FindSwitchByErspan(IpAddress::FromV4(in.U32()));
    in.Skip(4);
    wire::GreHeader gre;
    wire::Erspan3Header erspan;
    wire::ErspanPlatformSubheader platform;
    Read(in, gre);
    Read(in, erspan);
    if (erspan.has_platform_subheader) Read(in, platform);
    if (!in.ok() || node == topology::kNone) {
      ++strange;
      return;
    }
    MirrorSums& session = sessions[{node, erspan.session}];
    session.sequence.Add(gre.sequence);
    AddFrame(in.Rest(), session.sums);
    if (!platform.HasPort() || !erspan.has_platform_subheader) return;
    const topology::PortIndex port = fabric.FindPortByNumber(node, platform.Port());
    if (port == topology::kNone) {
      ++strange;
    } else {
      AddFrame(in.Rest(), mirrored[port]);
    }
  });
}

void RunFiles::ReadInt(const std::string& path) {
  ForEachFrame(path, [&](std::span<const uint8_t> frame) {
    wire::ByteReader in(frame);
    in.Skip(kEthernet + kIpv4 + kUdp);
    wire::IntReportGroupHeader group;
    wire::IntReport report;
    Read(in, group);
    const wire::IntReportFault fault = ReadIntReport(in, report);
    const topology::NodeIndex node = fabric.FindSwitchByInt(group.node_id);
    if (fault != wire::IntReportFault::kNone || node == topology::kNone) {
      ++strange;
      return;
    }
    const topology::PortIndex from = fabric.FindPortByNumber(node, report.metadata.ingress_port);
    const topology::PortIndex to = fabric.FindPortByNumber(node, report.metadata.egress_port);
    if (from == topology::kNone || to == topology::kNone) {
      ++strange;
      return;
    }
    postcards[node].Add(group.sequence);
    ++reported_in[from];
    AddFrame(report.inner, reported[to]);
  });
}

void RunFiles::ReadSflow(const std::string& path) {
  ForEachFrame(path, [&](std::span<const uint8_t> frame) {
    wire::ByteReader in(frame);
    in.Skip(kEthernet + kIpv4 + kUdp);
    wire::SflowDatagramHeader datagram;
    Read(in, datagram);
    const topology::NodeIndex node = fabric.FindSwitchBySflow(datagram.agent);
    for (uint32_t i = 0; i < datagram.samples && in.ok() && node != topology::kNone; ++i) {
      wire::SflowBlock block;
      Read(in, block);
      wire::ByteReader contents(in.Bytes(block.length));
      if (block.tag == wire::kSflowFlowSample) {
        wire::SflowFlowSample sample;
        Read(contents, sample);
        const topology::PortIndex port = fabric.FindPortByNumber(node, sample.source.index);
        if (port == topology::kNone) continue;
        samples[port].samples.Add(sample.sequence - 1);
        samples[port].pool = sample.sample_pool;
      } else if (block.tag == wire::kSflowCounterSample) {
        wire::SflowCounterSample sample;
        wire::SflowBlock record;
        wire::SflowInterfaceRecord interface;
        Read(contents, sample);
        Read(contents, record);
        Read(contents, interface);
        const topology::PortIndex port = fabric.FindPortByNumber(node, interface.index);
        if (port == topology::kNone || record.tag != wire::kSflowInterfaceCounters) continue;
        ++samples[port].readings;
        samples[port].received = interface.in_unicast;
        samples[port].received_bytes = interface.in_octets;
      } else if (block.tag == wire::kSflowDiscardedPacket) {
        wire::SflowDiscardedPacket discard;
        Read(contents, discard);
        const topology::PortIndex port = fabric.FindPortByNumber(node, discard.source.index);
        if (port == topology::kNone) continue;
        samples[port].discards.Add(discard.sequence - 1);
        samples[port].missed = discard.drops;
      }
    }
    if (!in.ok() || node == topology::kNone) ++strange;
  });
}

void RunFiles::ReadCounters(const std::string& path) {
  std::ifstream file(path);
  std::vector<int64_t> read_at(counters.size(), -1);
  for (std::string text; std::getline(file, text);) {
    const auto line = ParseCounterLine(text);
    if (line && line->entity.kind == EntityKind::kGpu) continue;
    const topology::NodeIndex node =
        line ? fabric.FindNode(line->entity.node) : topology::NodeIndex{topology::kNone};
    topology::PortIndex port = topology::kNone;
    if (node != topology::kNone && line->entity.kind == EntityKind::kPort) {
      port = fabric.FindPort(node, line->entity.port);
    } else if (node != topology::kNone && line->entity.kind == EntityKind::kNic) {
      const topology::NicIndex nic = fabric.FindNicByDevice(node, line->entity.port);
      if (nic != topology::kNone) port = fabric.nic(nic).port;
    }
    if (port == topology::kNone) {
      ++strange;
      continue;
    }
    counters_read_ns = ToNanoseconds(line->time);
    PortCounts& counts = counters[port];
    if (read_at[port] != counters_read_ns) {  // first line of this reading
      read_at[port] = counters_read_ns;
      counts.last.fill(0);
    }
    for (const auto& [metric, value] : line->metrics) {
      const auto at = static_cast<size_t>(metric);
      counts.last[at] += value;
      counts.highest[at] = std::max(counts.highest[at], value);
    }
  }
}

}  // namespace rocescope::sim::test

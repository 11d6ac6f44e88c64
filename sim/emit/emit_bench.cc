// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost of a frame copy. The limit is 1 us for a whole frame of 4096 bytes with its
// iCRC.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "sim/emit/mirror.h"
#include "sim/emit/packet.h"
#include "sim/emit/pcap_file.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

struct Pair {
  topology::Fabric fabric =
      topology::Generate({.shape = topology::Shape::kStar, .hosts = 2}).value();
  Network network{fabric, {}};
  Network::Connection connection = network.Connect(0, 1, nullptr);
  Frame frame{.queue_pair = connection.first->identity().number,
              .destination = 1,
              .payload = 4096,
              .opcode = wire::kOpcodeWriteMiddle,
              .priority = 3,
              .ecn_capable = true};
};

// Writes to memory; range(0) bytes of each frame are kept.
void BenchmarkPacket(benchmark::State& state) {
  Pair pair;
  PacketWriter writer(pair.network);
  std::vector<uint8_t> room(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    ++pair.frame.sequence;
    benchmark::DoNotOptimize(writer.WriteFrame(pair.frame, room));
  }
}
BENCHMARK(BenchmarkPacket)->Arg(192)->Arg(9216);

// Writes all bytes of a capture file to /dev/null, so that no disk is involved.
void BenchmarkMirror(benchmark::State& state) {
  topology::Fabric::Parts parts =
      topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 2}).value();
  const auto node = static_cast<topology::NodeIndex>(
      std::find_if(parts.nodes.begin(), parts.nodes.end(),
                   [](const topology::Node& each) { return each.IsSwitch(); }) -
      parts.nodes.begin());
  parts.taps.push_back({.node = node, .ports = {parts.nodes[node].first_port}});
  Pair pair{.fabric = topology::Fabric::Make(std::move(parts)).value()};
  PacketWriter packets(pair.network);
  const auto file = PcapFile::Open("/dev/null").value();
  // Simulated time does not advance here.
  CollectorPort port({.queue_bytes = uint64_t{1} << 50}, *file);
  const auto mirror = Mirror::Make(pair.network, packets, port,
                                   {.snap_length = static_cast<uint32_t>(state.range(0))})
                          .value();
  const Switch& at = pair.network.switch_at(node);
  for (auto _ : state) {
    ++pair.frame.sequence;
    mirror->Arrives(at, at.port(0), pair.frame);
  }
  if (mirror->CountOf(0).lost > 0) state.SkipWithError("the port lost copies");
}
BENCHMARK(BenchmarkMirror)->Arg(192)->Arg(0);

}  // namespace
}  // namespace rocescope::sim

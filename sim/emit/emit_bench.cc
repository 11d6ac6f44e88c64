// SPDX-License-Identifier: BSD-3-Clause
// What a copy of a frame costs. The bar is 1 us for a whole frame of 4096 octets with its iCRC.
#include <benchmark/benchmark.h>

#include <vector>

#include "dataplane/wire/opcode.h"
#include "sim/emit/packet.h"
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

// Into memory; range(0) octets are kept of each.
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

}  // namespace
}  // namespace rocescope::sim

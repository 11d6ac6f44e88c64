// SPDX-License-Identifier: BSD-3-Clause
// Measures the simulator with the cases that public simulators are compared by. Prints one JSON
// object for simulator.py.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sim/validation/experiment.h"
#include "tests/perf/processor.h"

namespace rocescope::sim {
namespace {

// Each NIC sends to another one (Sattolo's cycle).
std::vector<uint32_t> Derangement(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> to(count);
  std::iota(to.begin(), to.end(), 0);
  Random random(seed);
  for (uint32_t i = count - 1; i > 0; --i) std::swap(to[i], to[random.Below(i)]);
  return to;
}

struct Case {
  topology::Blueprint fabric;
  NetworkOptions network;
  uint64_t bytes;
  SimTime end;
};

void Run(const Case& one, uint64_t seed) {
  NetworkOptions options = one.network;
  options.seed = seed;
  test::Experiment experiment(one.fabric, options);
  const auto count = static_cast<uint32_t>(experiment.network().fabric().nics().size());
  const std::vector<uint32_t> to = Derangement(count, seed);
  for (uint32_t i = 0; i < count; ++i) {
    experiment.Add({.from = i, .to = to[i], .bytes = one.bytes});
  }
  const double speed = Gigahertz();
  const double begin = CpuSeconds();
  experiment.Run(one.end);
  const double used = CpuSeconds() - begin;
  uint64_t hops = 0;
  const size_t ports = experiment.network().fabric().ports().size();
  for (topology::PortIndex port = 0; port < ports; ++port) {
    hops += experiment.network().port(port).counters().tx_frames;
  }
  fmt::print("{{\"cpu_s\": {:.4f}, \"hops\": {}, \"events\": {}, \"gigahertz\": {:.3f}}}\n", used,
             hops, experiment.network().engine().events(), speed);
}

Case Permutation() {
  NetworkOptions options = test::Reference();
  test::SetA(options);
  return {.fabric = {.shape = topology::Shape::kFatTree, .k = 8},
          .network = options,
          .bytes = 1'000'000,
          .end = kNever};
}

// 128 hosts at 100 Gb/s that send continuously, with full-length frames.
Case Busy() {
  NetworkOptions options;
  test::SetA(options);
  return {.fabric = {.shape = topology::Shape::kFatTree, .k = 8},
          .network = options,
          .bytes = 1'000'000'000,
          .end = 10 * kMillisecond};
}

}  // namespace
}  // namespace rocescope::sim

int main(int argc, char** argv) {
  CLI::App app("Measures the CPU time of the simulator");
  std::string which;
  uint64_t seed = 1;
  app.add_option("CASE", which, "permutation or busy")
      ->required()
      ->check(CLI::IsMember({"permutation", "busy"}));
  app.add_option("--seed", seed, "seed of the hashes and of the permutation");
  CLI11_PARSE(app, argc, argv);
  using namespace rocescope::sim;
  Run(which == "busy" ? Busy() : Permutation(), seed);
  return 0;
}

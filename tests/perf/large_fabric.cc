// SPDX-License-Identifier: BSD-3-Clause
// Measures loading a fabric of 8,192 or 65,536 hosts (time, memory) and computing path sets in it.
// Prints one JSON object for topology.py and engine.py.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/hash.h"
#include "tests/perf/memory.h"
#include "tests/perf/processor.h"
#include "topology/ecmp.h"
#include "topology/generate.h"
#include "topology/route.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

constexpr uint32_t kArity = 32;
constexpr uint32_t kLargestArity = 64;
constexpr uint32_t kHosts = kArity * kArity * kArity / 4;
constexpr uint32_t kPairs = 2000;

Fabric Checked(Result<Fabric> fabric) {
  if (!fabric) {
    fmt::print(stderr, "large_fabric: {}\n", fabric.error().message);
    std::exit(1);
  }
  return *std::move(fabric);
}

// A file as generated from an inventory: one line for each switch, host and link.
std::string List(const Fabric& fabric) {
  std::string text = "name: listed\ndefaults: {speed: 100G}\nswitches:\n";
  const auto out = std::back_inserter(text);
  for (const Node& node : fabric.nodes()) {
    if (!node.IsSwitch()) continue;
    fmt::format_to(out, "  - {{name: {}, tier: {}, int_switch_id: {}{}}}\n", node.name,
                   NameOf(node.tier), node.int_switch_id,
                   node.pod == kNone ? "" : fmt::format(", pod: {}", node.pod));
  }
  text += "hosts:\n";
  for (const Nic& nic : fabric.nics()) {
    fmt::format_to(out, "  - {{name: {}, nics: [{{device: {}, addresses: 10.{}.{}.{}}}]}}\n",
                   fabric.node(nic.host).name, nic.device, nic.host >> 16 & 255,
                   nic.host >> 8 & 255, nic.host & 255);
  }
  text += "links:\n";
  for (const Link& link : fabric.links()) {
    fmt::format_to(out, "  - [\"{}\", \"{}\"]\n", fabric.NameOf(link.ends[0]),
                   fabric.NameOf(link.ends[1]));
  }
  return text;
}

void Load(const std::string& text) {
  const double speed = Gigahertz();
  const int64_t before = ResidentBytes();
  ForgetPeak();
  const double begin = CpuSeconds();
  const Fabric fabric = Checked(LoadFabric(text, "fabric.yaml"));
  const double used = CpuSeconds() - begin;
  const int64_t peak = PeakBytes() - before;
  fmt::print(
      "{{\"cpu_s\": {:.4f}, \"octets\": {}, \"hosts\": {}, \"memory_bytes\": {}, "
      "\"peak_bytes\": {}, \"gigahertz\": {:.3f}}}\n",
      used, text.size(), fabric.nics().size(), ResidentBytes() - before, peak, speed);
}

void FindPaths(const Fabric& fabric) {
  const double speed = Gigahertz();
  double sum = 0;
  double most = 0;
  uint64_t paths = 0;
  Routes routes(fabric);
  for (uint64_t i = 0; i < kPairs; ++i) {
    const auto from = static_cast<NicIndex>(Mix64(2 * i) % kHosts);
    const auto to = static_cast<NicIndex>(Mix64(2 * i + 1) % kHosts);
    routes.SetFailed({});  // clears the cache
    const double begin = CpuSeconds();
    const PathSet set(routes, from, to);
    paths += set.Count();
    const double used = CpuSeconds() - begin;
    sum += used;
    most = std::max(most, used);
  }
  fmt::print("{{\"cpu_s\": {:.9f}, \"most_s\": {:.9f}, \"paths\": {}, \"gigahertz\": {:.3f}}}\n",
             sum / kPairs, most, paths / kPairs, speed);
}

}  // namespace
}  // namespace rocescope::topology

int main(int argc, char** argv) {
  CLI::App app("Measures operations on a large fabric");
  std::string which;
  bool largest = false;
  app.add_option("CASE", which, "ranges, listed or paths")
      ->required()
      ->check(CLI::IsMember({"ranges", "listed", "paths"}));
  app.add_flag("--largest", largest, "65,536 hosts instead of 8,192; for ranges and listed");
  CLI11_PARSE(app, argc, argv);
  using namespace rocescope::topology;
  if (which == "paths") {
    FindPaths(Checked(Generate({.shape = Shape::kFatTree, .k = kArity})));
    return 0;
  }
  const auto text_of = [&](const Fabric& fabric) {
    return which == "ranges" ? WriteFabric(fabric) : List(fabric);
  };
  Load(text_of(
      Checked(Generate({.shape = Shape::kFatTree, .k = largest ? kLargestArity : kArity}))));
  return 0;
}

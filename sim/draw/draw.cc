// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/draw.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/hash.h"
#include "sim/draw/dice.h"
#include "sim/draw/fault_rules.h"
#include "sim/draw/outline.h"
#include "sim/draw/traffic.h"
#include "sim/draw/workload.h"
#include "sim/emit/host_files.h"

namespace rocescope::sim {
namespace {

// The workload is drawn again if it has no suitable place for the fault kind, for example if no
// link between switches carries traffic.
constexpr uint64_t kMaxAttempts = 32;

uint64_t ControlsAmong(double share, uint64_t scenarios) {
  return static_cast<uint64_t>(std::floor(share * static_cast<double>(scenarios)));
}

FaultKind StratifiedKind(uint64_t seed, uint64_t fault) {
  std::vector<FaultKind> kinds;
  for (size_t i = 0; i < kFaultKinds; ++i) kinds.push_back(static_cast<FaultKind>(i));
  RandomSource dice(seed, "round", fault / kFaultKinds);
  dice.Shuffle(kinds);
  return kinds[fault % kFaultKinds];
}

}  // namespace

std::optional<FaultKind> KindOf(const DrawOptions& options, uint32_t number) {
  const uint64_t before = ControlsAmong(options.healthy, number - 1);
  if (ControlsAmong(options.healthy, number) > before) return std::nullopt;
  const uint64_t fault = number - 1 - before;
  if (options.stratified) return StratifiedKind(options.seed, fault);
  RandomSource dice(options.seed, "kind", number);
  const auto& weights = options.priors.kinds;
  return static_cast<FaultKind>(dice.Weighted(std::vector<double>(weights.begin(), weights.end())));
}

Result<DrawnScenario> DrawScenario(const DrawOptions& options, uint32_t number) {
  const std::optional<FaultKind> kind = KindOf(options, number);
  const std::string_view what = kind ? InfoOf(*kind).name : "healthy";
  const WorkloadNeeds needs = kind ? NeedsOf(*kind) : WorkloadNeeds{};
  Outline outline;
  outline.name = fmt::format("{:04}-{}", number, what);
  RandomSource fabrics(options.seed, "fabric", number);
  RandomSource logs(options.seed, "log", number);
  const auto releases = NcclReleases();
  outline.nccl = fmt::format("2.{}", releases[logs.Between(0, releases.size() - 1)].minor);
  for (uint64_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const uint64_t seed = HashCombine(HashCombine(options.seed, number), attempt);
    outline.seed = seed >> 12;  // 52 bits, exact in a JSON number
    outline.fabric = needs.full_buffers ? DrawNarrowFabric(fabrics) : DrawFabric(fabrics);
    auto fabric = topology::Generate(outline.fabric);
    if (!fabric) return tl::unexpected(fabric.error());
    outline.fault.reset();
    RandomSource workloads(seed, "workload", 0);
    DrawWorkload(*fabric, needs, workloads, outline);
    outline.about = fmt::format("{}: {}.", what, outline.about);
    if (kind) {
      const auto traffic = Traffic::Of(outline, WriteOutline(outline, *fabric));
      if (!traffic) return tl::unexpected(traffic.error());
      RandomSource faults(seed, "fault", 0);
      const DrawContext context = {
          .fabric = *fabric, .outline = outline, .traffic = *traffic, .priors = options.priors};
      FaultOptions fault;
      if (!DrawFault(*kind, context, faults, fault)) continue;
      outline.fault = std::move(fault);
    }
    return DrawnScenario{
        .name = outline.name, .yaml = WriteOutline(outline, *fabric), .kind = kind};
  }
  return MakeError(
      ErrorCode::kInternal,
      fmt::format("{}: no random workload provides a suitable place for this fault", outline.name));
}

}  // namespace rocescope::sim

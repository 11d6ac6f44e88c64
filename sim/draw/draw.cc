// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "sim/draw/benign.h"
#include "sim/draw/dice.h"
#include "sim/draw/fault_rules.h"
#include "sim/draw/outline.h"
#include "sim/draw/scale.h"
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

// Whether the model can simulate the kind, and has telemetry that shows it: the flow model has no
// mirrored packets.
bool IsOf(Model model, FaultKind kind) {
  const Need need = InfoOf(kind).need;
  const bool needs_mirrors =
      need == Need::kSenders || need == Need::kDelays || need == Need::kCnpDelays;
  return model == Model::kPacket || (!NeedsPackets(kind) && !needs_mirrors);
}

FaultKind StratifiedKind(const DrawOptions& options, uint64_t fault) {
  std::vector<FaultKind> kinds;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (IsOf(options.model, kind)) kinds.push_back(kind);
  }
  RandomSource dice(options.seed, "round", fault / kinds.size());
  dice.Shuffle(kinds);
  return kinds[fault % kinds.size()];
}

// Relative weights of the kinds that the model can simulate, indexed by kind.
std::vector<double> WeightsOf(const DrawOptions& options) {
  std::vector<double> weights(options.priors.kinds.begin(), options.priors.kinds.end());
  if (options.stratified) std::ranges::fill(weights, 1.0);
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (!IsOf(options.model, static_cast<FaultKind>(i))) weights[i] = 0;
  }
  return weights;
}

}  // namespace

std::optional<FaultKind> KindOf(const DrawOptions& options, uint32_t number) {
  const uint64_t before = ControlsAmong(options.healthy, number - 1);
  if (ControlsAmong(options.healthy, number) > before) return std::nullopt;
  const uint64_t fault = number - 1 - before;
  if (options.stratified) return StratifiedKind(options, fault);
  RandomSource dice(options.seed, "kind", number);
  return static_cast<FaultKind>(dice.Weighted(WeightsOf(options)));
}

namespace {

// A fault of this kind can be at the link, switch or host of a fault of the kind `first`.
bool CanBeNear(FaultKind kind, FaultKind first) {
  const PlaceKind at = InfoOf(first).place;
  switch (kind) {
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
    case FaultKind::kDegradedRate:
    case FaultKind::kAddedLatency:
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
    case FaultKind::kReordering:
      return true;
    case FaultKind::kCorruption:
    case FaultKind::kMtuMismatch:
    case FaultKind::kSwitchCrash:
      return at == PlaceKind::kLink || at == PlaceKind::kSwitch;
    case FaultKind::kIncast:
    case FaultKind::kSlowReceiver:
    case FaultKind::kPfcStorm:
    case FaultKind::kNicCrash:
    case FaultKind::kStraggler:
      return at == PlaceKind::kNic || at == PlaceKind::kGpu;
    default:
      return false;
  }
}

struct Kinds {
  std::vector<FaultKind> all;
  bool at_one_place = false;
};

// The kinds of all faults of a scenario.
Kinds KindsOf(const DrawOptions& options, uint32_t number) {
  const std::optional<FaultKind> first = KindOf(options, number);
  if (!first) return {};
  Kinds drawn = {.all = {*first}};
  std::vector<FaultKind>& kinds = drawn.all;
  // A deadlock needs a fabric and a workload of its own.
  if (options.most_faults <= 1 || *first == FaultKind::kPfcDeadlock) return drawn;
  RandomSource dice(options.seed, "concurrent", number);
  std::vector<double> counts(options.priors.concurrent.begin(), options.priors.concurrent.end());
  counts.resize(std::min<size_t>(options.most_faults, counts.size()));
  const bool any = std::ranges::any_of(counts, [](double weight) { return weight > 0; });
  const size_t count = any ? 1 + dice.Weighted(counts) : 1;
  std::vector<double> left = WeightsOf(options);
  left[static_cast<size_t>(FaultKind::kPfcDeadlock)] = 0;
  drawn.at_one_place = count > 1 && dice.Chance(options.priors.same_place);
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (drawn.at_one_place && !CanBeNear(static_cast<FaultKind>(i), *first)) left[i] = 0;
  }
  while (kinds.size() < count) {
    const FaultKind last = kinds.back();
    // These have one place in a scenario: the congested NIC's switch, or the whole fabric.
    if (NeedsOf(last).congestion || last == FaultKind::kSwappedCables) {
      left[static_cast<size_t>(last)] = 0;
    }
    if (std::ranges::none_of(left, [](double weight) { return weight > 0; })) break;
    kinds.push_back(static_cast<FaultKind>(dice.Weighted(left)));
  }
  return drawn;
}

WorkloadNeeds NeedsOfAll(const std::vector<FaultKind>& kinds) {
  WorkloadNeeds all;
  for (const FaultKind kind : kinds) {
    const WorkloadNeeds own = NeedsOf(kind);
    all.least_queue_pairs = std::max(all.least_queue_pairs, own.least_queue_pairs);
    all.congestion |= own.congestion;
    all.both_ways |= own.both_ways;
    all.full_buffers |= own.full_buffers;
  }
  return all;
}

// Two faults of one kind at one place are one fault.
bool IsSame(const FaultOptions& a, const FaultOptions& b) {
  if (a.kind != b.kind) return false;
  switch (InfoOf(a.kind).place) {
    case PlaceKind::kLink:
      return a.link == b.link;
    case PlaceKind::kSwitch:
      return a.node == b.node && a.nic == b.nic;
    case PlaceKind::kNic:
      return a.nic == b.nic;
    case PlaceKind::kGpu:
      return a.gpu == b.gpu;
  }
  return true;
}

bool IsNear(const topology::Fabric& fabric, const FaultOptions& a, const FaultOptions& b) {
  const std::vector<topology::NodeIndex> others = NodesAt(fabric, b);
  return std::ranges::any_of(NodesAt(fabric, a), [&](topology::NodeIndex node) {
    return std::ranges::find(others, node) != others.end();
  });
}

// Draws all faults of the scenario. False: the workload has no suitable places.
bool DrawFaults(const Kinds& kinds, DrawContext context, RandomSource& dice,
                std::vector<FaultOptions>& faults) {
  const int most_tries = context.field ? 64 : 1;
  for (const FaultKind kind : kinds.all) {
    FaultOptions fault;
    bool found = false;
    for (int tries = 0; tries < most_tries && !found; ++tries) {
      // If nothing passes there, the fault gets a place elsewhere.
      const bool near = kinds.at_one_place && !faults.empty() && tries < most_tries / 2;
      context.neighbour = near ? &faults[0] : nullptr;
      found = DrawFault(kind, context, dice, fault) &&
              (!near || IsNear(context.fabric, fault, faults[0])) &&
              std::ranges::none_of(faults,
                                   [&](const FaultOptions& other) { return IsSame(other, fault); });
    }
    if (!found) return false;
    faults.push_back(std::move(fault));
  }
  return true;
}

std::string NameOf(const std::vector<FaultKind>& kinds) {
  std::string name;
  for (const FaultKind kind : kinds) {
    name += name.empty() ? "" : "-";
    name += InfoOf(kind).name;
  }
  return kinds.empty() ? "healthy" : name;
}

}  // namespace

Result<DrawnScenario> DrawScenario(const DrawOptions& options, uint32_t number) {
  const Kinds drawn_kinds = KindsOf(options, number);
  const std::vector<FaultKind>& kinds = drawn_kinds.all;
  const std::string what = NameOf(kinds);
  const WorkloadNeeds needs = NeedsOfAll(kinds);
  const bool is_flow = options.model == Model::kFlow;
  if (std::ranges::none_of(WeightsOf(options), [](double weight) { return weight > 0; })) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the priors have no fault type with a weight above 0 that the flow model can "
                     "simulate and show");
  }
  Outline outline;
  outline.model = options.model;
  outline.name = fmt::format("{:04}-{}", number, what);
  RandomSource fabrics(options.seed, "fabric", number);
  RandomSource logs(options.seed, "log", number);
  const auto releases = NcclReleases();
  outline.nccl = fmt::format("2.{}", releases[logs.Between(0, releases.size() - 1)].minor);
  // A source of its own, so that the rest of a scenario does not depend on it.
  RandomSource contents(options.seed, "log content", number);
  constexpr double kDefaultLogs = 0.25;
  outline.nccl_queue_pairs = !contents.Chance(kDefaultLogs) && !options.default_logs;
  for (uint64_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const uint64_t seed = HashCombine(HashCombine(options.seed, number), attempt);
    outline.seed = seed >> 12;  // 52 bits, exact in a JSON number
    outline.fabric = is_flow              ? DrawLargeFabric(fabrics)
                     : needs.full_buffers ? DrawNarrowFabric(fabrics)
                                          : DrawFabric(fabrics);
    auto fabric = topology::Generate(outline.fabric);
    if (!fabric) return tl::unexpected(fabric.error());
    outline.faults.clear();
    outline.duration = options.windows * ScaleOf(options.model).window;
    RandomSource workloads(seed, "workload", 0);
    DrawWorkload(*fabric, needs, workloads, outline);
    outline.about = fmt::format("{}: {}.", what, outline.about);
    if (!kinds.empty()) {
      const auto traffic = Traffic::Of(outline, WriteOutline(outline, *fabric));
      if (!traffic) return tl::unexpected(traffic.error());
      RandomSource faults(seed, "fault", 0);
      const bool field = options.most_faults > 0;
      const DrawContext context = {.fabric = *fabric,
                                   .outline = outline,
                                   .traffic = *traffic,
                                   .priors = options.priors,
                                   .field = field,
                                   .lift = !field || options.lift};
      std::vector<FaultOptions> drawn;
      if (!DrawFaults(drawn_kinds, context, faults, drawn)) continue;
      outline.faults = std::move(drawn);
    }
    if (options.benign) {
      RandomSource benign(seed, "benign", 0);
      DrawBenign(*fabric, benign, outline);
    }
    return DrawnScenario{
        .name = outline.name, .yaml = WriteOutline(outline, *fabric), .kinds = kinds};
  }
  return MakeError(
      ErrorCode::kInternal,
      fmt::format("{}: no random workload provides a suitable place for this fault", outline.name));
}

}  // namespace rocescope::sim

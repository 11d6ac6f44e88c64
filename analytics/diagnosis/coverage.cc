// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/coverage.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <set>

#include "analytics/diagnosis/scene.h"

namespace rocescope {
namespace {

// Metrics that somebody told, by the kind of who did.
struct Told {
  std::array<std::bitset<kMetricCount>, kEntityKindCount> by;
  bool frames_at_once = false;  // sent and received, read at one moment
  bool ways = false;            // of flows, beyond doubt
  bool delays = false;          // of packets, seen at several places
  bool votes = false;           // flows that are seen to lose packets, where NICs count none
  bool flows = false;
  bool rhythms = false;
  bool cables = false;

  bool Of(EntityKind kind, Metric metric) const {
    return by[static_cast<size_t>(kind)][static_cast<size_t>(metric)];
  }
  // What one end of a link says.
  bool OfAnEnd(Metric metric) const {
    return Of(EntityKind::kPort, metric) || Of(EntityKind::kNic, metric);
  }
};

// Whether a detector (detectors.h) has what it needs to find such a thing.
bool CanShow(FindingKind kind, const Told& told) {
  switch (kind) {
    case FindingKind::kLinkDown:
    case FindingKind::kFlap:
    case FindingKind::kSwitchCrash:
    case FindingKind::kNicCrash:
      return told.OfAnEnd(Metric::kLinkUp) || told.OfAnEnd(Metric::kLinkFlaps);
    case FindingKind::kDegradedRate:
      return told.OfAnEnd(Metric::kLinkSpeed);
    case FindingKind::kGrayLoss:
      return told.frames_at_once || told.votes;
    case FindingKind::kBlackhole:
    case FindingKind::kLostCnps:
      return told.frames_at_once && told.Of(EntityKind::kPort, Metric::kQueueBytes);
    case FindingKind::kBitErrors:
      return told.OfAnEnd(Metric::kFcsErrors);
    case FindingKind::kCorruption:
      return (told.ways && told.Of(EntityKind::kNic, Metric::kIcrcErrors)) || told.votes;
    case FindingKind::kPolarisation:
      return told.ways;
    case FindingKind::kIncast:
    case FindingKind::kNoisyNeighbour:
      return told.flows && (told.Of(EntityKind::kPort, Metric::kTxBytes) ||
                            told.Of(EntityKind::kPort, Metric::kEcnMarked));
    case FindingKind::kSlowReceiver:
      if (told.delays && told.Of(EntityKind::kPort, Metric::kQueueWatermark)) return true;
      [[fallthrough]];
    case FindingKind::kPfcStorm:
    case FindingKind::kPfcDeadlock:
      return told.Of(EntityKind::kPort, Metric::kPfcRxTime) || told.OfAnEnd(Metric::kPfcTxTime);
    case FindingKind::kMisconfiguredEcn:
      return told.Of(EntityKind::kPort, Metric::kQueueWatermark) &&
             told.Of(EntityKind::kPort, Metric::kEcnMarked);
    case FindingKind::kMisconfiguredAlpha:
      return told.Of(EntityKind::kPort, Metric::kBufferWatermark) &&
             told.Of(EntityKind::kPort, Metric::kPfcTx);
    case FindingKind::kStraggler:
      return told.rhythms || told.Of(EntityKind::kGpu, Metric::kGpuClock);
    case FindingKind::kMtuMismatch:
      return told.Of(EntityKind::kPort, Metric::kMtuDrops);
    case FindingKind::kSwappedCables:
      return told.cables;
    case FindingKind::kAddedLatency:
    case FindingKind::kDeprioritisedCnps:
      return told.delays;
    case FindingKind::kCount:
      return false;
  }
  return false;
}

// Of nodes that tell of themselves at their own pace: windows in which each was read. sFlow agents
// speak when they like.
std::map<topology::NodeIndex, std::vector<bool>> WindowsRead(const Scene& scene) {
  const MetricStore& metrics = scene.parts().metrics;
  std::map<topology::NodeIndex, std::vector<bool>> all;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (series.is_by_agent() || InfoOf(metric).kind != MetricKind::kCounter) continue;
      std::vector<bool>& read = all[metrics.NodeOf(entity)];
      read.resize(scene.windows());
      std::vector<bool> own(scene.windows());
      for (size_t i = 0; i < own.size(); ++i) {
        own[i] =
            series.first_reading() < scene.EndOf(i) && series.last_reading() > scene.BeginOf(i);
      }
      for (const int64_t window : series.skipped()) {
        if (const size_t place = scene.PlaceOf(window); place < own.size()) own[place] = false;
      }
      for (size_t i = 0; i < own.size(); ++i) {
        if (own[i]) read[i] = true;
      }
    }
  }
  return all;
}

std::vector<Silence> SilencesIn(const Scene& scene) {
  const auto read = WindowsRead(scene);
  std::vector<bool> by_any(scene.windows());
  for (const auto& [node, windows] : read) {
    for (size_t i = 0; i < windows.size(); ++i) by_any[i] = by_any[i] || windows[i];
  }
  std::vector<Silence> silences;
  for (const auto& [node, windows] : read) {
    Silence silence{.node = node};
    for (size_t i = 0; i < windows.size(); ++i) silence.windows += by_any[i] && !windows[i];
    if (silence.windows > 0) silences.push_back(silence);
  }
  std::ranges::sort(silences, [](const Silence& a, const Silence& b) {
    return a.windows != b.windows ? a.windows > b.windows : a.node < b.node;
  });
  return silences;
}

}  // namespace

DiagnosisCoverage CoverageOf(const Scene& scene) {
  const SceneParts& parts = scene.parts();
  DiagnosisCoverage coverage{.windows = scene.windows(),
                             .window = parts.metrics.window(),
                             .nics_of = static_cast<uint32_t>(scene.fabric().nics().size()),
                             .gpus_of = static_cast<uint32_t>(scene.fabric().gpus().size()),
                             .no_window = scene.windows() == 0 && !parts.metrics.entities().empty(),
                             .flows = parts.paths.size()};
  coverage.switches_of = static_cast<uint32_t>(
      std::ranges::count_if(scene.fabric().nodes(), &topology::Node::IsSwitch));
  Told told{.flows = !parts.flows.empty(),
            .rhythms = !parts.rhythms.empty(),
            .cables = parts.cabling.confirmed + parts.cabling.contradicted > 0};
  if (scene.windows() > 0) {
    std::set<topology::NodeIndex> switches;
    for (const auto& [entity, of] : parts.metrics.entities()) {
      for (const auto& [metric, series] : of.series) {
        told.by[static_cast<size_t>(entity.kind)].set(static_cast<size_t>(metric));
        told.frames_at_once |= metric == Metric::kRxPackets && !series.is_by_agent();
      }
      const bool whole = entity.priority == CounterEntity::kAllPriorities && !entity.all_gpus;
      if (entity.kind == EntityKind::kPort) {
        switches.insert(scene.fabric().port(entity.index).node);
      } else if (whole && entity.kind == EntityKind::kNic) {
        ++coverage.nics;
      } else if (whole && entity.kind == EntityKind::kGpu) {
        ++coverage.gpus;
      }
    }
    coverage.silences = SilencesIn(scene);
    coverage.switches = static_cast<uint32_t>(switches.size());
    told.delays = !parts.delays.empty();
    told.ways = std::ranges::any_of(parts.paths, [](const FlowPath& flow) {
      return std::ranges::any_of(
          flow.stretches, [](const PathStretch& stretch) { return !stretch.certain.empty(); });
    });
  }
  told.votes = told.ways && told.flows && !told.Of(EntityKind::kNic, Metric::kIcrcErrors);
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (!CanShow(kind, told)) coverage.not_seen.push_back(kind);
  }
  return coverage;
}

}  // namespace rocescope

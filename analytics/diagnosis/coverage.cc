// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/coverage.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <set>

#include "analytics/diagnosis/need.h"
#include "analytics/diagnosis/scene.h"

namespace rocescope {
namespace {

using Metrics = std::bitset<kMetricCount>;

bool Tells(const Metrics& metrics, Metric metric) {
  return metrics.test(static_cast<size_t>(metric));
}

// Those of which something can be said: one reading of a counter says nothing of its growth.
Metrics ToldOf(const MetricStore::OfEntity& of) {
  Metrics told;
  for (const auto& [metric, series] : of.series) {
    const bool counter = InfoOf(metric).kind == MetricKind::kCounter;
    if (counter ? series.last_reading() > series.first_reading() : !series.windows().empty()) {
      told.set(static_cast<size_t>(metric));
    }
  }
  return told;
}

// What an end of a link says, a switch's port or a NIC.
void MeetByEnd(const Metrics& told, Needs& needs) {
  needs.Meet(Need::kLinkStates, Tells(told, Metric::kLinkUp) || Tells(told, Metric::kLinkFlaps));
  needs.Meet(Need::kLinkSpeeds, Tells(told, Metric::kLinkSpeed));
  needs.Meet(Need::kFrameErrors, Tells(told, Metric::kFcsErrors));
}

// Pauses and fillings are told by priority.
void MeetByPort(const topology::Fabric& fabric, const Entity& port, const Metrics& told,
                Needs& needs) {
  const topology::PortIndex peer = fabric.Peer(port.index);
  const bool leads_to_nic = peer != topology::kNone && fabric.NicOf(peer) != topology::kNone;
  needs.Meet(Need::kMtuDrops, Tells(told, Metric::kMtuDrops));
  needs.Meet(Need::kSenders,
             leads_to_nic && (Tells(told, Metric::kTxBytes) || Tells(told, Metric::kEcnMarked)));
  if (port.priority == CounterEntity::kAllPriorities) return;
  const bool is_held = Tells(told, Metric::kPfcRxTime);
  needs.Meet(Need::kNicPauses, leads_to_nic && is_held);
  needs.Meet(Need::kLoopPauses, !leads_to_nic && (is_held || Tells(told, Metric::kPfcTxTime)));
  needs.Meet(Need::kMarks, Tells(told, Metric::kQueueWatermark) && Tells(told, Metric::kEcnMarked));
  needs.Meet(Need::kEarlyPauses,
             Tells(told, Metric::kBufferWatermark) && Tells(told, Metric::kPfcTx));
}

// Entities of which each detector could make something.
struct EventPublishers {
  bool nics_count_damage = false;
  bool queues = false;                   // how full they were at most, of any switch
  std::set<topology::NodeIndex> depths;  // switches that say what waits in them
  uint32_t gpus_with_clock = 0;          // and memory, which says whether they are in use
};

EventPublishers MeetByCounters(const Scene& scene, Needs& needs) {
  EventPublishers tellers;
  for (const auto& [entity, of] : scene.parts().metrics.entities()) {
    const Metrics told = ToldOf(of);
    if (entity.kind == EntityKind::kPort) {
      MeetByEnd(told, needs);
      MeetByPort(scene.fabric(), entity, told, needs);
      tellers.queues |= Tells(told, Metric::kQueueWatermark);
      if (Tells(told, Metric::kQueueBytes)) {
        tellers.depths.insert(scene.fabric().port(entity.index).node);
      }
    } else if (entity.kind == EntityKind::kNic) {
      MeetByEnd(told, needs);
      needs.Meet(Need::kNicPauses, entity.priority != CounterEntity::kAllPriorities &&
                                       Tells(told, Metric::kPfcTxTime));
      tellers.nics_count_damage |= Tells(told, Metric::kIcrcErrors);
    } else if (entity.kind == EntityKind::kGpu && !entity.all_gpus) {
      tellers.gpus_with_clock += Tells(told, Metric::kGpuClock) &&
                                 Tells(told, Metric::kMemoryTotal) &&
                                 Tells(told, Metric::kMemoryFree);
    }
  }
  return tellers;
}

// What both ends of a link sent can be held against what they received, in either direction.
bool CanBalance(const Scene& scene, const topology::Link& link) {
  const Entity a = scene.EntityOf(link.ends[0]);
  const Entity b = scene.EntityOf(link.ends[1]);
  return scene.AreSimultaneous(a, Metric::kTxPackets, b, Metric::kRxPackets) ||
         scene.AreSimultaneous(b, Metric::kTxPackets, a, Metric::kRxPackets);
}

// So can what came into all of a switch's ports against what went out (switch_loss.cc).
bool CanBalance(const Scene& scene, topology::NodeIndex node) {
  const topology::Node& of = scene.fabric().node(node);
  if (scene.HasUndeclaredTraffic(node)) return false;
  std::optional<Entity> first;
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (scene.fabric().port(of.first_port + i).link == topology::kNone) continue;
    const Entity entity = scene.EntityOf(of.first_port + i);
    if (!first) first = entity;
    if (!scene.AreSimultaneous(*first, Metric::kRxPackets, entity, Metric::kTxPackets)) {
      return false;
    }
  }
  return first.has_value();
}

// By times and ways of packets.
void MeetByPackets(const SceneParts& parts, const EventPublishers& tellers, Needs& needs) {
  for (const auto& [key, windows] : parts.delays) {
    needs.Meet(key.kind == DelayKind::kNotice ? Need::kNoticeDelays : Need::kDelays);
    needs.Meet(Need::kSlowAnswers, key.kind == DelayKind::kTurnaround && tellers.queues);
  }
  for (const auto& [node, windows] : parts.queue_uses) {
    const bool told = std::ranges::any_of(windows, [](const QueueUse& use) {
      return std::ranges::any_of(use.queues,
                                 [](const QueueCount& queue) { return queue.notices > 0; });
    });
    needs.Meet(Need::kNoticeDelays, told);
  }
  const bool ways = std::ranges::any_of(parts.paths, [](const FlowPath& flow) {
    return std::ranges::any_of(flow.intervals,
                               [](const PathInterval& stretch) { return !stretch.certain.empty(); });
  });
  const bool pairs = std::ranges::any_of(parts.connections, [](const Connection& connection) {
    return connection.endpoints[0].qpn && connection.endpoints[1].qpn;
  });
  // Refused packets vote where NICs do not count the damaged ones (loss_votes.cc).
  const bool votes = ways && pairs && !parts.flows.empty() && !tellers.nics_count_damage;
  needs.Meet(Need::kPaths, ways);
  needs.Meet(Need::kDamage, (ways && tellers.nics_count_damage) || votes);
  needs.Meet(Need::kLinkSums, votes);
}

// Fills in what balances.
Needs NeedsMet(const Scene& scene, DiagnosisCoverage& coverage) {
  const SceneParts& parts = scene.parts();
  Needs needs;
  if (scene.windows() > 0) {
    const EventPublishers tellers = MeetByCounters(scene, needs);
    coverage.links_balanced = static_cast<uint32_t>(std::ranges::count_if(
        scene.fabric().links(), [&](const auto& link) { return CanBalance(scene, link); }));
    needs.Meet(Need::kLinkSums, coverage.links_balanced > 0);
    needs.Meet(Need::kSwitchSums, std::ranges::any_of(tellers.depths, [&](auto node) {
                 return CanBalance(scene, node);
               }));
    needs.Meet(Need::kSlowAnswers, needs.AreMet(Need::kNicPauses));
    needs.Meet(Need::kGpuClocks, tellers.gpus_with_clock >= 3);
    MeetByPackets(parts, tellers, needs);
  }
  if (parts.flows.empty()) needs.Withdraw(Need::kSenders);
  needs.Meet(Need::kGpuClocks, !parts.iteration_patterns.empty());
  // Two links whose sums agree crosswise tell of cables too.
  needs.Meet(Need::kCables, parts.cabling.confirmed + parts.cabling.contradicted > 0 ||
                                coverage.links_balanced > 1);
  return needs;
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
                             .links = static_cast<uint32_t>(scene.fabric().links().size()),
                             .no_window = scene.windows() == 0 && !parts.metrics.entities().empty(),
                             .flows = parts.paths.size()};
  coverage.switches_of = static_cast<uint32_t>(
      std::ranges::count_if(scene.fabric().nodes(), &topology::Node::IsSwitch));
  if (const auto read = parts.metrics.WindowsRead()) {
    coverage.windows_before = static_cast<uint64_t>(read->second - read->first) - coverage.windows;
  }
  if (scene.windows() > 0) {
    std::set<topology::NodeIndex> switches;
    for (const auto& [entity, of] : parts.metrics.entities()) {
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
  }
  coverage.hindrance = HindranceTo(scene);
  Needs needs = NeedsMet(scene, coverage);
  if (coverage.hindrance.obstacle == Obstacle::kFewWindows) {
    // Cables are told by packets, whenever they come.
    const bool cables = needs.AreMet(Need::kCables) && parts.cabling.confirmed > 0;
    needs = {};
    needs.Meet(Need::kCables, cables);
  } else if (coverage.hindrance.obstacle != Obstacle::kNone) {
    needs = {};
  }
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (!needs.AreMet(NeedOf(kind).need)) coverage.not_seen.push_back(kind);
  }
  return coverage;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/coverage.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/unusable_counters.h"
#include "base/median.h"

namespace rocescope {
namespace {

class Needs {
 public:
  void Meet(Need need, bool met = true) {
    if (met) met_.set(static_cast<size_t>(need));
  }
  void Withdraw(Need need) { met_.reset(static_cast<size_t>(need)); }
  bool AreMet(Need need) const { return met_.test(static_cast<size_t>(need)); }

 private:
  std::bitset<kNeedCount> met_;
};

using Metrics = std::bitset<kMetricCount>;

bool HasMetric(const Metrics& metrics, Metric metric) {
  return metrics.test(static_cast<size_t>(metric));
}

// Metrics with usable data. A single reading of a counter is not usable, as it shows no increase.
Metrics MetricsOf(const MetricStore::OfEntity& of) {
  Metrics reported;
  for (const auto& [metric, series] : of.series) {
    const bool counter = InfoOf(metric).kind == MetricKind::kCounter;
    if (counter ? series.last_reading() > series.first_reading() : !series.windows().empty()) {
      reported.set(static_cast<size_t>(metric));
    }
  }
  return reported;
}

// Needs that the counters of one end of a link meet, a port of a switch or a NIC.
void MeetByEnd(const Metrics& reported, Needs& needs) {
  needs.Meet(Need::kLinkStates,
             HasMetric(reported, Metric::kLinkUp) || HasMetric(reported, Metric::kLinkFlaps));
  needs.Meet(Need::kLinkSpeeds, HasMetric(reported, Metric::kLinkSpeed));
  needs.Meet(Need::kFrameErrors,
             HasMetric(reported, Metric::kFcsErrors) || HasMetric(reported, Metric::kRxErrors));
}

// Pauses and queue lengths are reported by priority.
void MeetByPort(const topology::Fabric& fabric, const Entity& port, const Metrics& reported,
                Needs& needs) {
  const topology::PortIndex peer = fabric.Peer(port.index);
  const bool leads_to_nic = peer != topology::kNone && fabric.NicOf(peer) != topology::kNone;
  needs.Meet(Need::kMtuDrops, HasMetric(reported, Metric::kMtuDrops));
  needs.Meet(Need::kSenders, leads_to_nic && (HasMetric(reported, Metric::kTxBytes) ||
                                              HasMetric(reported, Metric::kEcnMarked)));
  if (port.priority == CounterEntity::kAllPriorities) return;
  const bool is_paused = HasMetric(reported, Metric::kPfcRxTime);
  needs.Meet(Need::kNicPauses, leads_to_nic && is_paused);
  needs.Meet(Need::kLoopPauses,
             !leads_to_nic && (is_paused || HasMetric(reported, Metric::kPfcTxTime)));
  needs.Meet(Need::kMarks, HasMetric(reported, Metric::kQueueWatermark) &&
                               HasMetric(reported, Metric::kEcnMarked));
  needs.Meet(Need::kEarlyPauses,
             HasMetric(reported, Metric::kBufferWatermark) && HasMetric(reported, Metric::kPfcTx));
}

// Needs that a switch meets for faults of its own.
struct SwitchNeeds {
  bool has_ports = false;
  bool has_priorities = false;  // ports without traffic may report none
  Needs met;
};

// What the counters contain, for needs that several entities meet together.
struct CounterSummary {
  std::map<topology::NodeIndex, SwitchNeeds> switches;
  bool nics_count_damage = false;
  bool nics_count_late = false;  // packets out of sequence
  bool nics_count_naks = false;
  bool queues = false;                   // how full they were at most, of any switch
  std::set<topology::NodeIndex> depths;  // switches that say what waits in them
  uint32_t gpus_with_clock = 0;          // and memory, which says whether they are in use
};

CounterSummary MeetByCounters(const DiagnosisInput& input, Needs& needs) {
  CounterSummary summary;
  for (const auto& [entity, of] : input.parts().metrics.entities()) {
    const Metrics reported = MetricsOf(of);
    if (entity.kind == EntityKind::kPort) {
      MeetByEnd(reported, needs);
      MeetByPort(input.fabric(), entity, reported, needs);
      SwitchNeeds& own = summary.switches[input.fabric().port(entity.index).node];
      own.has_ports |= entity.priority == CounterEntity::kAllPriorities;
      own.has_priorities |= entity.priority != CounterEntity::kAllPriorities;
      MeetByPort(input.fabric(), entity, reported, own.met);
      summary.queues |= HasMetric(reported, Metric::kQueueWatermark);
      if (HasMetric(reported, Metric::kQueueBytes)) {
        summary.depths.insert(input.fabric().port(entity.index).node);
      }
    } else if (entity.kind == EntityKind::kNic) {
      MeetByEnd(reported, needs);
      needs.Meet(Need::kNicPauses, entity.priority != CounterEntity::kAllPriorities &&
                                       HasMetric(reported, Metric::kPfcTxTime));
      summary.nics_count_damage |= HasMetric(reported, Metric::kIcrcErrors);
      summary.nics_count_late |= HasMetric(reported, Metric::kOutOfSequence);
      summary.nics_count_naks |= HasMetric(reported, Metric::kPacketSequenceError);
    } else if (entity.kind == EntityKind::kGpu && !entity.all_gpus) {
      summary.gpus_with_clock += HasMetric(reported, Metric::kGpuClock) &&
                                 HasMetric(reported, Metric::kMemoryTotal) &&
                                 HasMetric(reported, Metric::kMemoryFree);
    }
  }
  return summary;
}

// Whether the counters of both ends of a link can be compared, in at least one direction.
bool CanBalance(const DiagnosisInput& input, const topology::Link& link) {
  const Entity a = input.EntityOf(link.ends[0]);
  const Entity b = input.EntityOf(link.ends[1]);
  return input.AreSimultaneous(a, Metric::kTxPackets, b, Metric::kRxPackets) ||
         input.AreSimultaneous(b, Metric::kTxPackets, a, Metric::kRxPackets);
}

// Whether nothing contradicts the counters of both ends, in at least one direction.
bool AreUsable(const DiagnosisInput& input, const topology::Link& link) {
  const auto& [a, b] = link.ends;
  const auto are_usable = [&](topology::PortIndex sender, topology::PortIndex receiver) {
    return AreUsable(input, sender, receiver) && !HasSurplus(input, sender);
  };
  return are_usable(a, b) || are_usable(b, a);
}

// Whether the increase of the counter is known and not from an sFlow agent (analytics/link).
bool IsPolled(const DiagnosisInput& input, const Entity& entity, Metric metric) {
  const MetricSeries* series = input.parts().metrics.Find(entity, metric);
  return series != nullptr && !series->is_by_agent() &&
         series->last_reading() > series->first_reading();
}

// Whether counters can show silent loss on a link, in at least one direction. If its ends are read
// at different times, they show losses above a limit.
bool CanShowLoss(const DiagnosisInput& input, const topology::Link& link) {
  const Entity a = input.EntityOf(link.ends[0]);
  const Entity b = input.EntityOf(link.ends[1]);
  const auto are_polled = [&](const Entity& sender, const Entity& receiver) {
    return IsPolled(input, sender, Metric::kTxPackets) &&
           IsPolled(input, receiver, Metric::kRxPackets);
  };
  return (CanBalance(input, link) || are_polled(a, b) || are_polled(b, a)) &&
         AreUsable(input, link);
}

// Whether the received and sent frames of a switch can be compared (switch_loss.cc).
bool CanBalance(const DiagnosisInput& input, topology::NodeIndex node) {
  const topology::Node& of = input.fabric().node(node);
  if (input.HasUndeclaredTraffic(node) || !AreUsable(input, node)) return false;
  std::optional<Entity> first;
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (input.fabric().port(of.first_port + i).link == topology::kNone) continue;
    const Entity entity = input.EntityOf(of.first_port + i);
    if (!first) first = entity;
    if (!input.AreSimultaneous(*first, Metric::kRxPackets, entity, Metric::kTxPackets)) {
      return false;
    }
  }
  return first.has_value();
}

// Needs that packets, their delays and paths meet.
void MeetByPackets(const DiagnosisInput& input, const CounterSummary& summary, Needs& needs) {
  const DiagnosisParts& parts = input.parts();
  for (const auto& [key, windows] : parts.delays) {
    needs.Meet(key.kind == DelayKind::kCnp ? Need::kCnpDelays : Need::kDelays);
    // Packets of one flow were observed at two switches.
    needs.Meet(Need::kOrder, key.kind == DelayKind::kTransit);
    needs.Meet(Need::kSlowAnswers, key.kind == DelayKind::kTurnaround && summary.queues);
  }
  for (const auto& [node, windows] : parts.queue_uses) {
    const bool reported = std::ranges::any_of(windows, [](const QueueUse& use) {
      return std::ranges::any_of(use.queues,
                                 [](const QueueCount& queue) { return queue.cnps > 0; });
    });
    needs.Meet(Need::kCnpDelays, reported);
  }
  const bool ways = std::ranges::any_of(parts.paths, [](const FlowPath& flow) {
    return std::ranges::any_of(
        flow.intervals, [](const PathInterval& stretch) { return !stretch.certain.empty(); });
  });
  const bool pairs = std::ranges::any_of(parts.connections, [](const Connection& connection) {
    return connection.endpoints[0].qpn && connection.endpoints[1].qpn;
  });
  // NAKs are used as votes if NICs do not count corrupted packets (loss_votes.cc).
  const bool votes = ways && pairs && !parts.flows.empty() && !summary.nics_count_damage;
  needs.Meet(Need::kPaths, ways);
  needs.Meet(Need::kDamage, (ways && summary.nics_count_damage) || votes);
  // Counters of NICs are used as votes unless switches spray packets (nic_votes.cc).
  const bool nic_votes =
      ways && summary.nics_count_late && summary.nics_count_naks && !input.is_spraying();
  needs.Meet(Need::kLinkSums, votes || nic_votes);
}

// Fault kinds that only counters of the switch itself show.
std::vector<BlindSpot> BlindSpotsOf(const CounterSummary& summary) {
  std::vector<BlindSpot> spots;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const Need need = InfoOf(kind).need;
    const bool is_by_priority = need == Need::kMarks || need == Need::kEarlyPauses;
    if (!is_by_priority && need != Need::kMtuDrops) continue;
    BlindSpot spot = {.kind = kind};
    for (const auto& [node, own] : summary.switches) {
      const bool is_read = is_by_priority ? own.has_priorities : own.has_ports;
      if (is_read && !own.met.AreMet(need)) spot.switches.push_back(node);
    }
    if (!spot.switches.empty()) spots.push_back(std::move(spot));
  }
  return spots;
}

// Also fills in coverage.links_counted and coverage.blind_spots.
Needs NeedsMet(const DiagnosisInput& input, DiagnosisCoverage& coverage) {
  const DiagnosisParts& parts = input.parts();
  Needs needs;
  if (input.windows() > 0) {
    const CounterSummary summary = MeetByCounters(input, needs);
    coverage.blind_spots = BlindSpotsOf(summary);
    const auto links = input.fabric().links();
    coverage.links_counted = static_cast<uint32_t>(
        std::ranges::count_if(links, [&](const auto& link) { return CanShowLoss(input, link); }));
    needs.Meet(Need::kLinkSums, coverage.links_counted > 0);
    // Sums of the counters of two links can show that their cables are exchanged.
    needs.Meet(Need::kCables, std::ranges::count_if(links, [&](const auto& link) {
                                return CanBalance(input, link);
                              }) > 1);
    needs.Meet(Need::kSwitchSums, std::ranges::any_of(summary.depths, [&](auto node) {
                 return CanBalance(input, node);
               }));
    needs.Meet(Need::kSlowAnswers, needs.AreMet(Need::kNicPauses));
    needs.Meet(Need::kGpuClocks, summary.gpus_with_clock >= 3);
    MeetByPackets(input, summary, needs);
  }
  if (parts.flows.empty()) needs.Withdraw(Need::kSenders);
  if (input.is_spraying()) {
    needs.Withdraw(Need::kPaths);
    needs.Withdraw(Need::kDelays);
    needs.Withdraw(Need::kOrder);
  }
  needs.Meet(Need::kGpuClocks, !parts.iteration_patterns.empty());
  needs.Meet(Need::kCables, parts.cabling.confirmed + parts.cabling.contradicted > 0);
  return needs;
}

// For each node: windows in which its counters were read. Counters from sFlow agents are left out,
// because agents choose their own times.
std::map<topology::NodeIndex, std::vector<bool>> WindowsRead(const DiagnosisInput& input) {
  const MetricStore& metrics = input.parts().metrics;
  std::map<topology::NodeIndex, std::vector<bool>> all;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (series.is_by_agent() || InfoOf(metric).kind != MetricKind::kCounter) continue;
      std::vector<bool>& read = all[metrics.NodeOf(entity)];
      read.resize(input.windows());
      std::vector<bool> own(input.windows());
      for (size_t i = 0; i < own.size(); ++i) {
        own[i] =
            series.first_reading() < input.EndOf(i) && series.last_reading() > input.BeginOf(i);
      }
      for (const int64_t window : series.skipped()) {
        if (const size_t place = input.PlaceOf(window); place < own.size()) own[place] = false;
      }
      for (size_t i = 0; i < own.size(); ++i) {
        if (own[i]) read[i] = true;
      }
    }
  }
  return all;
}

// The median distance between two windows with a reading; 1: there are not two.
size_t UsualDistance(const std::vector<bool>& read) {
  std::vector<size_t> distances;
  std::optional<size_t> last;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    if (last) distances.push_back(i - *last);
    last = i;
  }
  return distances.empty() ? 1 : UpperMedianOf(distances);
}

// Windows in which other nodes were read and this one was not, although a reading was due. A
// reading that is one window late is not missing.
uint32_t SilentWindows(const std::vector<bool>& read, const std::vector<bool>& by_any) {
  const size_t usual = UsualDistance(read);
  uint32_t silent = 0;
  for (size_t begin = 0; begin < read.size();) {
    size_t end = begin;
    while (end < read.size() && !read[end]) ++end;
    if (end - begin > usual) {
      for (size_t i = begin + usual - 1; i < end; ++i) silent += by_any[i];
    }
    begin = end + 1;
  }
  return silent;
}

std::vector<Silence> SilencesIn(const DiagnosisInput& input) {
  const auto read = WindowsRead(input);
  std::vector<bool> by_any(input.windows());
  for (const auto& [node, windows] : read) {
    for (size_t i = 0; i < windows.size(); ++i) by_any[i] = by_any[i] || windows[i];
  }
  std::vector<Silence> silences;
  for (const auto& [node, windows] : read) {
    const Silence silence{.node = node, .windows = SilentWindows(windows, by_any)};
    if (silence.windows > 0) silences.push_back(silence);
  }
  std::ranges::sort(silences, [](const Silence& a, const Silence& b) {
    return a.windows != b.windows ? a.windows > b.windows : a.node < b.node;
  });
  return silences;
}

}  // namespace

DiagnosisCoverage CoverageOf(const DiagnosisInput& input) {
  const DiagnosisParts& parts = input.parts();
  DiagnosisCoverage coverage{.windows = input.windows(),
                             .window = parts.metrics.window(),
                             .nics_of = static_cast<uint32_t>(input.fabric().nics().size()),
                             .gpus_of = static_cast<uint32_t>(input.fabric().gpus().size()),
                             .links = static_cast<uint32_t>(input.fabric().links().size()),
                             .no_window = input.windows() == 0 && !parts.metrics.entities().empty(),
                             .flows = parts.paths.size()};
  coverage.switches_of = static_cast<uint32_t>(
      std::ranges::count_if(input.fabric().nodes(), &topology::Node::IsSwitch));
  if (const auto read = parts.metrics.WindowsRead()) {
    coverage.windows_before = static_cast<uint64_t>(read->second - read->first) - coverage.windows;
  }
  if (input.windows() > 0) {
    std::set<topology::NodeIndex> switches;
    for (const auto& [entity, of] : parts.metrics.entities()) {
      const bool whole = entity.priority == CounterEntity::kAllPriorities && !entity.all_gpus;
      if (entity.kind == EntityKind::kPort) {
        switches.insert(input.fabric().port(entity.index).node);
      } else if (whole && entity.kind == EntityKind::kNic) {
        ++coverage.nics;
      } else if (whole && entity.kind == EntityKind::kGpu) {
        ++coverage.gpus;
      }
    }
    coverage.silences = SilencesIn(input);
    coverage.unusable_counters = UnusableCountersIn(input);
    coverage.switches = static_cast<uint32_t>(switches.size());
  }
  coverage.hindrance = HindranceTo(input);
  Needs needs = NeedsMet(input, coverage);
  if (coverage.hindrance.obstacle == Obstacle::kFewWindows) {
    // Packets show swapped cables in any number of windows.
    const bool cables = needs.AreMet(Need::kCables) && parts.cabling.confirmed > 0;
    needs = {};
    needs.Meet(Need::kCables, cables);
  }
  if (coverage.links == 0) {
    for (size_t i = 0; i < kNeedCount; ++i) {
      const auto need = static_cast<Need>(i);
      if (RequiresLinks(need)) needs.Withdraw(need);
    }
  }
  FaultKindSet detectable;
  for (const Detector& detector : kDetectors) {
    if (CanRun(detector, input, coverage.hindrance.obstacle)) detectable.Add(detector.kinds);
  }
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (!detectable.Contains(kind) || !needs.AreMet(InfoOf(kind).need)) {
      coverage.not_seen.push_back(kind);
    }
  }
  std::erase_if(coverage.blind_spots, [&](const BlindSpot& spot) {
    return std::ranges::binary_search(coverage.not_seen, spot.kind);
  });
  return coverage;
}

}  // namespace rocescope

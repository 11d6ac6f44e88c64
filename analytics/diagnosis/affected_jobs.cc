// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/affected_jobs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/job_slowdown.h"
#include "analytics/diagnosis/paused_time.h"
#include "analytics/job/flow_of.h"
#include "analytics/job/host_name.h"
#include "topology/near_nic.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// The two directions of a connection of jobs.
struct JobConnection {
  std::array<std::optional<FlowKey>, 2> flows;
  std::array<const FlowPath*, 2> paths{};  // null: unknown
  Timestamp from;
  Timestamp until;
  std::vector<uint32_t> jobs;
};

// The jobs that a finding affects, and those that are exposed to it.
class Harm {
 public:
  Harm(const DiagnosisInput& input, Finding& finding)
      : input_(input),
        fabric_(input.fabric()),
        finding_(&finding),
        // Flows that stop at once were last seen shortly before.
        from_(finding.from - input.parts().metrics.window()),
        until_(finding.until.value_or(Timestamp::max())) {
    const Place& place = finding.place;
    if (place.kind == PlaceKind::kNic) {
      nic_ = place.index;
      is_pausing_ = IsPaused(fabric_.Peer(fabric_.nic(nic_).port));
      is_discarding_ = finding.kind == FaultKind::kSlowReceiver && IsDiscarding();
      if (is_pausing_ || IsOverload()) FindPausedPorts();
      if (IsOverload()) FindCrowdedSenders();
    }
    if (place.kind == PlaceKind::kGpu) {
      nic_ = topology::NicNear(fabric_, place.index);
      AddRanksOn(input.parts().attribution);
      // Without known ranks, the jobs that use the NIC next to the GPU are the best guess.
      is_rank_unknown_ = affected_.empty();
    }
    affected_.insert(finding.affected_jobs.begin(), finding.affected_jobs.end());
    exposed_.insert(finding.exposed_jobs.begin(), finding.exposed_jobs.end());
  }

  void Add(const JobConnection& connection) {
    // A connection with a flow that causes the fault is affected in neither direction.
    const bool is_culprit = std::ranges::any_of(
        connection.flows, [&](const auto& flow) { return flow && IsCulprit(*flow); });
    if (is_culprit) return;
    for (size_t i = 0; i < 2; ++i) {
      const FlowPath* path = connection.paths[i];
      if (path == nullptr || !IsExposed(*path, connection.from, connection.until)) continue;
      exposed_.insert(connection.jobs.begin(), connection.jobs.end());
      if (IsDisturbed(*path, connection.flows[1 - i])) {
        affected_.insert(connection.jobs.begin(), connection.jobs.end());
      }
    }
  }

  void Finish() {
    for (const JobIterationPattern& pattern : input_.parts().iteration_patterns) {
      if (exposed_.contains(pattern.job) && IsDisturbed(pattern)) affected_.insert(pattern.job);
    }
    finding_->affected_jobs.assign(affected_.begin(), affected_.end());
    finding_->exposed_jobs.clear();
    std::ranges::set_difference(exposed_, affected_, std::back_inserter(finding_->exposed_jobs));
  }

 private:
  bool IsCulprit(const FlowKey& flow) const {
    return std::ranges::binary_search(finding_->culprits, flow);
  }

  bool IsExposed(const FlowPath& path, Timestamp from, Timestamp until) const {
    return std::ranges::any_of(path.intervals, [&](const PathInterval& stretch) {
      return std::max({stretch.from, from, from_}) <= std::min({stretch.until, until, until_}) &&
             (Passes(path, stretch) || IsPausedOn(stretch));
    });
  }

  // Whether a port on the path is paused because of the NIC.
  bool IsPausedOn(const PathInterval& stretch) const {
    return std::ranges::any_of(stretch.certain,
                               [&](PortIndex port) { return paused_.contains(port); });
  }

  bool Passes(const FlowPath& path, const PathInterval& stretch) const {
    if (nic_ != kNone) {
      return path.source == nic_ || path.destination == nic_ || crowded_.contains(path.source);
    }
    if (std::ranges::any_of(stretch.certain, [&](PortIndex port) { return IsPlace(port); })) {
      return true;
    }
    return std::ranges::any_of(stretch.shares, [&](const PathShare& share) {
      return share.share > 0 && IsPlace(share.port);
    });
  }

  // `port` is a sending port.
  bool IsPlace(PortIndex port) const {
    const Place& place = finding_->place;
    if (std::ranges::find(finding_->loop, port) != finding_->loop.end()) return true;
    if (place.kind == PlaceKind::kSwitch) return fabric_.port(port).node == place.index;
    return place.kind == PlaceKind::kLink && fabric_.port(port).link == place.index &&
           (place.sender == kNone || place.sender == port);
  }

  // Whether an exposed flow shows that the fault disturbs it. NAKs are in the reverse flow.
  bool IsDisturbed(const FlowPath& path, const std::optional<FlowKey>& reverse) const {
    if (is_rank_unknown_ || !finding_->loop.empty()) return true;
    if ((is_pausing_ || is_discarding_ || IsOverload()) && path.destination == nic_) return true;
    if (crowded_.contains(path.source)) return true;
    const bool is_paused = std::ranges::any_of(path.intervals, [&](const PathInterval& stretch) {
      return stretch.until >= from_ && stretch.from <= until_ && IsPausedOn(stretch);
    });
    if (is_paused) return true;
    if (IsCutOff(path.source) || IsCutOff(path.destination)) return true;
    if (!InfoOf(finding_->kind).loses_packets) return false;
    if (HasLosses(path.flow, &LossWindow::retransmitted) ||
        (reverse && HasLosses(*reverse, &LossWindow::refused))) {
      return true;
    }
    if (IsMirrored(path)) return false;
    const std::optional<bool> counts = CountsLosses(path);
    return counts.value_or(true);  // nothing reports losses: its traffic probably has some
  }

  // Whether the only link of a NIC is down. Its flows stop, and may retransmit much later.
  bool IsCutOff(NicIndex nic) const {
    if (nic == kNone) return false;
    const Place& place = finding_->place;
    const PortIndex port = fabric_.nic(nic).port;
    switch (finding_->kind) {
      case FaultKind::kSwitchCrash:
        return place.kind == PlaceKind::kSwitch && fabric_.PeerNode(port) == place.index;
      case FaultKind::kLinkDown:
        return place.kind == PlaceKind::kLink && fabric_.port(port).link == place.index;
      case FaultKind::kNicCrash:
        return place.kind == PlaceKind::kNic && nic == place.index;
      default:
        return false;
    }
  }

  // Whether the fault is that senders congest the link of the NIC.
  bool IsOverload() const {
    return finding_->kind == FaultKind::kIncast || finding_->kind == FaultKind::kNoisyNeighbour;
  }

  // Finds the NICs whose own link is loaded by the culprits, so that other flows are slower there.
  void FindCrowdedSenders() {
    constexpr double kMuch = 0.05;  // fraction of the line rate
    std::map<NicIndex, double> share;
    for (const FlowKey& culprit : finding_->culprits) {
      const FlowSummary* const flow = input_.parts().flows.Find(culprit, &FlowSummary::flow);
      const NicIndex source =
          fabric_.FindNic({.segment = culprit.segment, .address = culprit.source});
      if (flow == nullptr || source == kNone) continue;
      const auto seconds = static_cast<double>((flow->total.last_seen - from_).count()) * 1e-9;
      const double line = static_cast<double>(fabric_.SpeedOf(fabric_.nic(source).port)) / 8;
      if (seconds <= 0 || line == 0) continue;
      share[source] += static_cast<double>(flow->total.bytes) / (seconds * line);
    }
    for (const auto& [nic, part] : share) {
      if (part >= kMuch) crowded_.insert(nic);
    }
  }

  // Whether packets of the flow were mirrored, so that its losses are visible.
  static bool IsMirrored(const FlowPath& path) {
    return std::ranges::any_of(path.intervals, [](const PathInterval& stretch) {
      return (stretch.sources & kFromMirror) != 0;
    });
  }

  // Whether a NIC at either end counts losses during the fault; empty: neither reports them.
  std::optional<bool> CountsLosses(const FlowPath& path) const {
    constexpr uint64_t kLeast = 3;  // fewer can have another cause
    std::optional<bool> counts;
    for (const auto& [nic, metric] : {std::pair(path.source, Metric::kPacketSequenceError),
                                      std::pair(path.source, Metric::kLocalAckTimeout),
                                      std::pair(path.destination, Metric::kOutOfSequence)}) {
      if (nic == kNone) continue;
      const Entity entity{.kind = EntityKind::kNic, .index = nic};
      if (!input_.HasMetric(entity, metric)) continue;
      const Row row = input_.Growth(entity, metric);
      uint64_t sum = 0;
      for (size_t w = 0; w < row.size(); ++w) {
        if (input_.EndOf(w) > finding_->from && input_.BeginOf(w) < until_) sum += row[w];
      }
      counts = counts.value_or(false) || sum >= kLeast;
    }
    return counts;
  }

  // Whether the iterations of an exposed job show that the fault disturbs it.
  bool IsDisturbed(const JobIterationPattern& pattern) const {
    if (finding_->place.kind == PlaceKind::kGpu || pattern.spans.empty()) return false;
    if (IsSlower(pattern, finding_->from, finding_->until)) return true;
    return InfoOf(finding_->kind).loses_packets && input_.windows() > 0 &&
           HasStopped(pattern, finding_->from, input_.EndOf(input_.windows() - 1));
  }

  // Whether the flow had losses during the fault, or shortly after it: timeouts delay
  // retransmissions.
  bool HasLosses(const FlowKey& flow, uint64_t LossWindow::* count) const {
    const MetricStore& metrics = input_.parts().metrics;
    const auto& losses = input_.parts().losses.losses();
    const auto at = losses.find(flow);
    if (at == losses.end()) return false;
    const int64_t first = metrics.WindowOf(from_);
    return std::ranges::any_of(at->second, [&](const LossWindow& loss) {
      return loss.*count > 0 && loss.window >= first &&
             (!finding_->until || loss.window <= metrics.WindowOf(*finding_->until) +
                                                     input_.thresholds().quiet_windows);
    });
  }

  // Whether a port is paused during the fault for longer than one next to a healthy NIC, and for
  // longer than before.
  bool IsPaused(PortIndex port) const {
    if (port == kNone) return false;
    constexpr double kLonger = 2;
    const auto window = static_cast<double>(input_.parts().metrics.window().count());
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Row held = PausedTime(input_, port, priority);
      double shares[2] = {};  // summed over the windows before and during the fault
      double windows[2] = {};
      for (size_t w = 0; w < held.size() && input_.BeginOf(w) < until_; ++w) {
        const bool during = input_.EndOf(w) > finding_->from;
        shares[during] += static_cast<double>(held[w]) / window;
        ++windows[during];
      }
      if (shares[1] <= input_.thresholds().pause_ratio * windows[1]) continue;
      if (shares[1] * windows[0] > kLonger * shares[0] * windows[1] || windows[0] == 0) return true;
    }
    return false;
  }

  // Whether the NIC discarded packets that it received during the fault.
  bool IsDiscarding() const {
    const Row discards =
        input_.Growth({.kind = EntityKind::kNic, .index = nic_}, Metric::kRxDiscards);
    for (size_t w = 0; w < discards.size() && input_.BeginOf(w) < until_; ++w) {
      if (input_.EndOf(w) > finding_->from && discards[w] >= input_.thresholds().nic_discards) {
        return true;
      }
    }
    return false;
  }

  // Finds the ports that are paused because of the NIC: a switch whose port to it is congested or
  // paused pauses its neighbours, and so do these.
  void FindPausedPorts() {
    const PortIndex last = fabric_.Peer(fabric_.nic(nic_).port);
    if (last == kNone) return;
    std::set<NodeIndex> pausing = {fabric_.port(last).node};
    std::vector<NodeIndex> next(pausing.begin(), pausing.end());
    while (!next.empty()) {
      const NodeIndex node = next.back();
      next.pop_back();
      for (const topology::Port& port : fabric_.PortsOf(node)) {
        const PortIndex sender =
            fabric_.Peer(static_cast<PortIndex>(&port - fabric_.ports().data()));
        if (sender == kNone || paused_.contains(sender) || !IsPaused(sender)) continue;
        paused_.insert(sender);
        const NodeIndex above = fabric_.port(sender).node;
        if (fabric_.node(above).IsSwitch() && pausing.insert(above).second) next.push_back(above);
      }
    }
  }

  void AddRanksOn(const Attribution& attribution) {
    const topology::Gpu& gpu = fabric_.gpu(finding_->place.index);
    if (gpu.pci.empty()) return;
    for (uint32_t job = 0; job < attribution.jobs.size(); ++job) {
      const bool has =
          std::ranges::any_of(attribution.jobs[job].job.ranks, [&](const JobRank& rank) {
            return rank.gpu_bus_id == gpu.pci && SameHost(rank.host, fabric_.node(gpu.host).name);
          });
      if (has) affected_.insert(job);
    }
  }

  const DiagnosisInput& input_;
  const Fabric& fabric_;
  Finding* finding_;
  Timestamp from_;
  Timestamp until_;
  NicIndex nic_ = kNone;        // all of its flows are exposed, on any path
  std::set<NicIndex> crowded_;  // NICs through which the flows of the culprits leave
  std::set<PortIndex> paused_;  // sending ports
  bool is_pausing_ = false;
  bool is_discarding_ = false;
  bool is_rank_unknown_ = false;  // only for a GPU
  std::set<uint32_t> exposed_;
  std::set<uint32_t> affected_;
};

}  // namespace

void FillVictims(const DiagnosisInput& input, Findings& findings) {
  std::vector<Harm> harms;
  for (Finding& finding : findings) {
    if (finding.basis != Basis::kWaiting || finding.affected_jobs.empty()) {
      harms.emplace_back(input, finding);
    }
  }
  if (harms.empty()) return;
  const auto& claims = input.parts().attribution.endpoints;
  size_t at = 0;
  for (const Connection& connection : input.parts().connections) {
    if (at == claims.size()) break;
    const EndClaims& ends = claims[at++];
    JobConnection of_jobs{.flows = {FlowFrom(0, connection), FlowFrom(1, connection)},
                          .from = connection.valid_from,
                          .until = connection.valid_until.value_or(Timestamp::max()),
                          .jobs = {}};
    for (const auto& claim : ends) {
      if (claim) of_jobs.jobs.push_back(claim->job);
    }
    if (of_jobs.jobs.empty()) continue;
    for (size_t end = 0; end < 2; ++end) {
      const auto& flow = of_jobs.flows[end];
      if (flow) of_jobs.paths[end] = input.parts().paths.Find(*flow, &FlowPath::flow);
    }
    for (Harm& harm : harms) harm.Add(of_jobs);
  }
  for (Harm& harm : harms) harm.Finish();
}

}  // namespace rocescope

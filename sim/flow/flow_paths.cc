// SPDX-License-Identifier: BSD-3-Clause
// Paths of flows, the load that they put on links, and which of them compete.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {

double FlowModel::CapacityOf(topology::PortIndex port) const {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const topology::LinkIndex link = fabric.port(port).link;
  const topology::PortIndex peer = fabric.Peer(port);
  if (link_is_down_[link] || node_is_down_[fabric.port(port).node] ||
      node_is_down_[fabric.port(peer).node]) {
    return 0;
  }
  double capacity =
      static_cast<double>(fabric.link(link).bits_per_second) / 8 * capacity_factor_[port];
  if (!fabric.node(fabric.port(peer).node).IsSwitch()) {
    const topology::NicIndex nic = fabric.NicOf(peer);
    if (storms_[nic]) return 0;
    if (receive_limit_[nic] > 0) capacity = std::min(capacity, receive_limit_[nic]);
  }
  return capacity;
}

void FlowModel::FindPath(Sender& sender) const {
  const topology::Fabric& fabric = simulation_->real_fabric();
  Network& network = simulation_->network();
  const auto find = [&](const QueuePair& from, std::vector<topology::PortIndex>& path) {
    path.assign(1, fabric.nic(from.nic().number()).port);
    for (const topology::PortIndex port : network.PathOf(from)) path.push_back(port);
  };
  find(*sender.queue_pair, sender.path);
  find(sender.queue_pair->peer(), sender.way_back);
}

std::optional<uint32_t> FlowModel::CutOf(const Sender& sender) const {
  const topology::Fabric& fabric = simulation_->real_fabric();
  if (sender.is_unreachable) return sender.path.size() < 2 ? 0 : 1;
  const topology::NicIndex to = sender.queue_pair->peer().nic().number();
  const uint32_t frame = scenario_.network.nics.mtu + kIpHeaders;
  for (uint32_t i = 0; i < sender.path.size(); ++i) {
    if (CapacityOf(sender.path[i]) <= 0) return i;
    if (i == 0) continue;
    const topology::NodeIndex node = fabric.port(sender.path[i]).node;
    if (mtu_[node] < frame && sender.traffic.data_frames > 0) return i;
    const auto& holes = blackholes_[node];
    if (std::find(holes.begin(), holes.end(), to) != holes.end()) return i;
  }
  for (const topology::PortIndex port : sender.way_back) {
    if (CapacityOf(port) <= 0) return static_cast<uint32_t>(sender.path.size());
  }
  return std::nullopt;
}

void FlowModel::FindLoads(Group& group) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const double critical =
      group.cost != nullptr ? group.cost->critical_bytes() : group.message_bytes;
  std::map<topology::PortIndex, double> bytes;
  group.is_cut = false;
  for (const Sender& sender : group.senders) {
    group.is_cut |= CutOf(sender).has_value();
    for (const topology::PortIndex port : sender.path) bytes[port] += sender.traffic.WireBytes();
    for (const topology::PortIndex port : sender.way_back) {
      bytes[port] += sender.traffic.AnswerWireBytes();
    }
  }
  group.loads.clear();
  group.limit = group.line_rate * group.load;
  group.limited_by = topology::kNone;
  for (const auto& [port, sum] : bytes) {
    const double share = sum / critical;
    group.loads.push_back({port, share});
    const double allowed = UsableCapacity(port, share) / share;
    if (allowed >= group.limit) continue;
    group.limit = allowed;
    const bool is_switch = fabric.node(fabric.port(port).node).IsSwitch();
    group.limited_by = is_switch ? port : topology::kNone;
  }
  if (group.is_cut) group.limit = 0;
  // Frames that follow a lost one until its NAK arrives.
  group.more_latency = 0;
  for (Sender& sender : group.senders) {
    SimTime round_trip = 0;
    SimTime added = 0;
    for (const topology::PortIndex port : sender.path) added += added_delay_[port];
    // A collective passes each connection about twice on its critical path.
    group.more_latency = std::max(group.more_latency, 2 * added);
    for (const auto* way : {&sender.path, &sender.way_back}) {
      for (const topology::PortIndex port : *way) {
        const topology::Link& link = fabric.link(fabric.port(port).link);
        round_trip += link.delay.count() * kNanosecond + added_delay_[port];
        if (way == &sender.path) {
          round_trip += TransmitTime(static_cast<uint64_t>(kFullFrameOnWire), link.bits_per_second);
        }
      }
    }
    sender.round_trip = round_trip;
    sender.frames_in_flight = static_cast<uint32_t>(
        std::max(1.0, group.limit * static_cast<double>(round_trip) / kSecond / kFullFrameOnWire));
  }
  FindLosses(group);
}

// Flows of several queue pairs that meet do not use a link completely: DCQCN leaves gaps.
double FlowModel::UsableCapacity(topology::PortIndex port, double flows) const {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const bool is_switch = fabric.node(fabric.port(port).node).IsSwitch();
  return CapacityOf(port) * (is_switch && flows > kSeveralFlows ? kCongestedUse : 1.0);
}

void FlowModel::FindComponents() {
  std::map<topology::PortIndex, std::vector<FairLink::Use>> uses;  // users are groups
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    if (group.limit <= 0) continue;
    for (const Load& load : group.loads) uses[load.port].push_back({index, load.share});
  }
  std::vector<uint32_t> parent(groups_.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](uint32_t group) {
    while (parent[group] != group) group = parent[group] = parent[parent[group]];
    return group;
  };
  for (auto at = uses.begin(); at != uses.end();) {
    double wanted = 0;
    double flows = 0;
    for (const FairLink::Use& use : at->second) {
      wanted += use.share * groups_[use.user].limit;
      flows += use.share;
    }
    if (at->second.size() < 2 || wanted <= UsableCapacity(at->first, flows)) {
      at = uses.erase(at);
      continue;
    }
    for (const FairLink::Use& use : at->second) parent[root(use.user)] = root(at->second[0].user);
    ++at;
  }
  components_.clear();
  std::vector<uint32_t> component_of(groups_.size(), topology::kNone);  // by root
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    group.component = topology::kNone;
    if (group.senders.empty()) continue;
    uint32_t& component = component_of[root(index)];
    if (component == topology::kNone) {
      component = static_cast<uint32_t>(components_.size());
      components_.emplace_back();
    }
    Component& of = components_[component];
    group.component = component;
    group.place = static_cast<uint32_t>(of.groups.size());
    of.groups.push_back(index);
    of.limits.push_back(group.limit);
    of.active.push_back(group.is_active);
  }
  for (const auto& [port, of] : uses) {
    Component& component = components_[groups_[of[0].user].component];
    double flows = 0;
    FairLink link;
    for (const FairLink::Use& use : of) {
      link.uses.push_back({groups_[use.user].place, use.share});
      flows += use.share;
    }
    link.capacity = UsableCapacity(port, flows);
    component.links.push_back(std::move(link));
    component.ports.push_back(port);
  }
}

// Takes the current routes and the state of the fabric into account.
void FlowModel::FindPaths() {
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    if (group.senders.empty()) continue;
    if (group.component != topology::kNone) Advance(group);
    bool is_new = group.series == topology::kNone;
    std::vector<Sender> before;
    if (routes_changed_ || is_new) {
      for (Sender& sender : group.senders) {
        const std::vector<topology::PortIndex> path = sender.path;
        const std::vector<topology::PortIndex> way_back = sender.way_back;
        Sender found = sender;
        FindPath(found);
        // While there is no path, frames are lost on the old one.
        found.is_unreachable = found.path.size() < 2 || found.way_back.size() < 2;
        if (found.is_unreachable && path.size() >= 2) {
          sender.is_unreachable = true;
          continue;
        }
        if (!is_new && (found.path != path || found.way_back != way_back)) {
          if (before.empty()) before = group.senders;
          is_new = true;
        }
        sender = std::move(found);
      }
    }
    FindLoads(group);
    if (!is_new) continue;
    if (group.series != topology::kNone) {
      if (before.empty()) before = group.senders;
      std::swap(before, group.senders);
      RecordPaths(index, group.done - group.series_base);
      std::swap(before, group.senders);
    }
    BeginSeries(index);
  }
  routes_changed_ = false;
  // The receivers of marks may be others than before.
  for (topology::PortIndex port = 0; port < ports_.size(); ++port) {
    SetCongestion(port, 0, 0, 0, 0);
    ports_[port].marks_series = ports_[port].pause_series = topology::kNone;
    ports_[port].marks = ports_[port].pauses = ports_[port].paused_ns = 0;
  }
  FindComponents();
  for (uint32_t component = 0; component < components_.size(); ++component) Resolve(component);
}

// Starts counting the frames of a group on its present paths.
void FlowModel::BeginSeries(uint32_t index) {
  Group& group = groups_[index];
  group.series = builder_->AddSeries();
  group.series_base = group.done;
  group.series_began = now_;
  builder_->series(group.series).Add(now_, 0);
  using Class = std::tuple<double, double, double, double>;
  struct Counts {
    uint32_t frames;
    uint32_t bytes;
    uint32_t answer_frames;
    uint32_t answer_bytes;
  };
  std::map<Class, Counts> classes;
  std::map<std::tuple<topology::PortIndex, uint32_t, uint32_t>, int32_t> sent;
  for (const Sender& sender : group.senders) {
    const Exchange& traffic = sender.traffic;
    const auto [at, is_new] = classes.try_emplace(
        {traffic.frames, traffic.bytes, traffic.answer_frames, traffic.answer_bytes});
    if (is_new) {
      at->second = {builder_->AddCount(group.series, traffic.frames),
                    builder_->AddCount(group.series, traffic.bytes),
                    builder_->AddCount(group.series, traffic.answer_frames),
                    builder_->AddCount(group.series, traffic.answer_bytes)};
    }
    const Counts& counts = at->second;
    for (const topology::PortIndex port : sender.path) ++sent[{port, counts.frames, counts.bytes}];
    for (const topology::PortIndex port : sender.way_back) {
      ++sent[{port, counts.answer_frames, counts.answer_bytes}];
    }
  }
  for (const auto& [key, weight] : sent) {
    const auto& [port, frames, bytes] = key;
    builder_->AddSent(port, frames, bytes, weight);
  }
}

// `runs`: how often the traffic of an iteration was sent on the present paths.
void FlowModel::RecordPaths(uint32_t index, double runs) {
  const Group& group = groups_[index];
  if (runs <= 0) return;
  for (const Sender& sender : group.senders) {
    const auto record = [&](const QueuePair& from, const std::vector<topology::PortIndex>& path,
                            double bytes) {
      if (path.size() < 2 || bytes <= 0) return;
      path_records_[from.identity().number].push_back(
          {.start = group.series_began,
           .end = now_,
           .ports = {path.begin() + 1, path.end()},
           .bytes = bytes * runs});
    };
    record(*sender.queue_pair, sender.path, sender.traffic.DataBytes());
    record(sender.queue_pair->peer(), sender.way_back, sender.traffic.GrantBytes());
  }
}

}  // namespace rocescope::sim

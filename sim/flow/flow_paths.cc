// SPDX-License-Identifier: BSD-3-Clause
// Paths of flows, the load that they put on links, and which of them compete.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {

double FlowModel::CapacityOf(topology::PortIndex port) const {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const topology::LinkIndex link = fabric.port(port).link;
  const topology::PortIndex peer = fabric.Peer(port);
  if (link_down_reasons_[link] > 0 || node_is_down_[fabric.port(port).node] ||
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

double FlowModel::CriticalBytes(const Group& group) const {
  return group.cost != nullptr ? group.cost->critical_bytes() : group.message_bytes;
}

// What the NICs at both ends allow, and what follows a lost frame.
void FlowModel::FindLimit(Group& group) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const double critical = CriticalBytes(group);
  std::map<topology::PortIndex, double> bytes;
  group.limit = group.line_rate * group.load;
  group.more_latency = 0;
  for (Sender& sender : group.senders) {
    sender.is_cut = CutOf(sender).has_value();
    bytes[sender.path.front()] += sender.traffic.WireBytes();
    bytes[sender.path.back()] += sender.traffic.WireBytes();
    SimTime added = 0;
    for (const topology::PortIndex port : sender.path) added += added_delay_[port];
    // A collective passes each connection about twice on its critical path.
    group.more_latency = std::max(group.more_latency, 2 * added);
  }
  for (const auto& [port, sum] : bytes) {
    const topology::LinkIndex link = fabric.port(port).link;
    const double capacity = static_cast<double>(fabric.link(link).bits_per_second) / 8;
    group.limit = std::min(group.limit, capacity * critical / sum);
  }
  for (Sender& sender : group.senders) {
    sender.round_trip = 0;
    for (const auto* way : {&sender.path, &sender.way_back}) {
      for (const topology::PortIndex port : *way) {
        const topology::Link& link = fabric.link(fabric.port(port).link);
        sender.round_trip += link.delay.count() * kNanosecond + added_delay_[port];
        if (way == &sender.path) {
          sender.round_trip +=
              TransmitTime(static_cast<uint64_t>(kFullFrameOnWire), link.bits_per_second);
        }
      }
    }
    // Frames that follow a lost one until its NAK arrives.
    const double in_flight = group.limit * static_cast<double>(sender.round_trip) / kSecond;
    sender.frames_in_flight =
        static_cast<uint32_t>(std::max(1.0, std::round(in_flight / kFullFrameOnWire)));
  }
  FindLosses(group);
}

// Returns the sending ports of links that may be full.
std::set<topology::PortIndex> FlowModel::FindCompetition() const {
  std::map<topology::PortIndex, double> demands;  // bytes/s
  for (const Group& group : groups_) {
    const double critical = CriticalBytes(group);
    for (const Sender& sender : group.senders) {
      if (sender.is_cut) continue;
      const auto add = [&](topology::PortIndex port, double bytes) {
        demands[port] += bytes / critical * group.limit;
      };
      for (const topology::PortIndex port : sender.path) add(port, sender.traffic.WireBytes());
      for (const topology::PortIndex port : sender.way_back) {
        add(port, sender.traffic.AnswerWireBytes());
      }
    }
  }
  std::set<topology::PortIndex> competition;
  for (const auto& [port, demand] : demands) {
    // ACKs and clear-to-sends alone, about 1 % of the data, are no competition.
    constexpr double kAnswers = 1.02;
    if (demand > CapacityOf(port) * kAnswers) competition.insert(port);
  }
  return competition;
}

// Distributes the senders of each group over lanes by the links for which they compete.
void FlowModel::FindLanes() {
  const std::set<topology::PortIndex> competition = FindCompetition();
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    std::map<std::pair<bool, std::vector<topology::PortIndex>>, std::vector<uint32_t>> sets;
    for (uint32_t i = 0; i < group.senders.size(); ++i) {
      std::vector<topology::PortIndex> ports;
      for (const topology::PortIndex port : group.senders[i].path) {
        if (competition.contains(port)) ports.push_back(port);
      }
      if (group.senders[i].is_cut) ports.clear();
      sets[{group.senders[i].is_cut, std::move(ports)}].push_back(i);
    }
    std::vector<std::vector<uint32_t>> before;
    for (const uint32_t lane : group.lanes) before.push_back(lanes_[lane].senders);
    std::vector<std::vector<uint32_t>> now;
    for (const auto& [key, senders] : sets) now.push_back(senders);
    const bool is_same = before == now && !group.paths_changed;
    group.paths_changed = false;
    if (!is_same) {
      for (const uint32_t lane : group.lanes) EndSeries(lanes_[lane]);
      // Each new lane goes on from an earlier lane of its senders, an active one if possible.
      std::vector<uint32_t> old_lane(group.senders.size(), topology::kNone);
      for (const uint32_t lane : group.lanes) {
        for (const uint32_t sender : lanes_[lane].senders) old_lane[sender] = lane;
      }
      std::vector<Lane> lanes;
      for (const std::vector<uint32_t>& senders : now) {
        Lane lane;
        uint32_t old = old_lane[senders[0]];
        for (const uint32_t sender : senders) {
          const uint32_t other = old_lane[sender];
          if (other != topology::kNone && lanes_[other].is_active) old = other;
        }
        if (old != topology::kNone) {
          lane = lanes_[old];
        } else {
          lane.is_active = group.is_active;
        }
        lane.group = index;
        lane.senders = senders;
        lane.rate = -1;
        lane.version = ++versions_;
        lanes.push_back(std::move(lane));
      }
      for (const uint32_t lane : group.lanes) {
        lanes_[lane].version = ++versions_;
        lanes_[lane].is_active = false;
        free_lanes_.push_back(lane);
      }
      group.lanes.clear();
      group.open_lanes = 0;
      for (Lane& lane : lanes) {
        group.open_lanes += lane.is_active;
        if (free_lanes_.empty()) {
          free_lanes_.push_back(static_cast<uint32_t>(lanes_.size()));
          lanes_.emplace_back();
        }
        const uint32_t number = free_lanes_.back();
        free_lanes_.pop_back();
        lanes_[number] = std::move(lane);
        group.lanes.push_back(number);
        BeginSeries(lanes_[number]);
      }
    }
    auto set = sets.begin();
    for (const uint32_t number : group.lanes) {
      Lane& lane = lanes_[number];
      lane.is_cut = set->first.first;
      lane.ports = set->first.second;
      ++set;
      std::map<topology::PortIndex, double> shares;
      const double critical = CriticalBytes(group);
      for (const uint32_t i : lane.senders) {
        const Sender& sender = group.senders[i];
        for (const topology::PortIndex port : sender.path) {
          if (competition.contains(port)) shares[port] += sender.traffic.WireBytes() / critical;
        }
        for (const topology::PortIndex port : sender.way_back) {
          if (!competition.contains(port)) continue;
          shares[port] += sender.traffic.AnswerWireBytes() / critical;
        }
      }
      lane.loads.clear();
      for (const auto& [port, share] : shares) lane.loads.push_back({port, share});
    }
  }
  FindComponents();
}

void FlowModel::FindComponents() {
  std::map<topology::PortIndex, std::vector<FairLink::Use>> uses;  // users are lanes
  std::vector<uint32_t> parent(lanes_.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](uint32_t lane) {
    while (parent[lane] != lane) lane = parent[lane] = parent[parent[lane]];
    return lane;
  };
  for (const Group& group : groups_) {
    for (const uint32_t lane : group.lanes) {
      if (lanes_[lane].is_cut) continue;
      for (const Load& load : lanes_[lane].loads) {
        std::vector<FairLink::Use>& of = uses[load.port];
        if (!of.empty()) parent[root(lane)] = root(of[0].user);
        of.push_back({lane, load.share});
      }
    }
  }
  components_.clear();
  std::vector<uint32_t> component_of(lanes_.size(), topology::kNone);  // by root
  for (const Group& group : groups_) {
    for (const uint32_t number : group.lanes) {
      Lane& lane = lanes_[number];
      uint32_t& component = component_of[root(number)];
      if (component == topology::kNone) {
        component = static_cast<uint32_t>(components_.size());
        components_.emplace_back();
      }
      Component& of = components_[component];
      lane.component = component;
      lane.place = static_cast<uint32_t>(of.lanes.size());
      of.lanes.push_back(number);
      of.limits.push_back(lane.is_cut ? 0 : group.limit);
      of.active.push_back(lane.is_active);
    }
  }
  for (const auto& [port, of] : uses) {
    Component& component = components_[lanes_[of[0].user].component];
    FairLink link;
    link.capacity = CapacityOf(port);
    for (const FairLink::Use& use : of) link.uses.push_back({lanes_[use.user].place, use.share});
    component.links.push_back(std::move(link));
    component.ports.push_back(port);
  }
}

// Takes the current routes and the state of the fabric into account.
void FlowModel::FindPaths() {
  for (Group& group : groups_) {
    for (const uint32_t lane : group.lanes) Advance(lanes_[lane]);
    if (routes_changed_) {
      std::vector<Sender> found = group.senders;
      for (size_t i = 0; i < found.size(); ++i) {
        const Sender& before = group.senders[i];
        FindPath(found[i]);
        found[i].is_unreachable = found[i].path.size() < 2 || found[i].way_back.size() < 2;
        if (found[i].is_unreachable && before.path.size() >= 2) {
          // While there is no path, frames are lost on the old one.
          found[i].path = before.path;
          found[i].way_back = before.way_back;
        }
        group.paths_changed |= found[i].path != before.path || found[i].way_back != before.way_back;
      }
      if (group.paths_changed) {
        for (const uint32_t lane : group.lanes) EndSeries(lanes_[lane]);
      }
      group.senders = std::move(found);
    }
    FindLimit(group);
  }
  routes_changed_ = false;
  // The receivers of marks may be others than before.
  for (topology::PortIndex port = 0; port < ports_.size(); ++port) {
    SetCongestion(port, 0, 0, 0, 0);
    ports_[port].marks_series = ports_[port].pause_series = topology::kNone;
    ports_[port].marks = ports_[port].pauses = ports_[port].paused_ns = 0;
  }
  FindLanes();
  for (uint32_t component = 0; component < components_.size(); ++component) Resolve(component);
  // A NIC in a PFC storm pauses its link although nothing passes.
  for (topology::NicIndex nic = 0; nic < storms_.size(); ++nic) {
    if (!storms_[nic]) continue;
    const topology::Fabric& fabric = simulation_->real_fabric();
    SetCongestion(fabric.Peer(fabric.nic(nic).port), 0, kPausesPerSecond, 1, 0);
  }
}

// Starts counting the frames of a lane on its present paths.
void FlowModel::BeginSeries(Lane& lane) {
  const Group& group = groups_[lane.group];
  lane.series = builder_->AddSeries();
  lane.series_base = lane.done;
  lane.series_began = now_;
  builder_->series(lane.series).Add(now_, 0);
  using Class = std::tuple<double, double, double, double>;
  struct Counts {
    uint32_t frames;
    uint32_t bytes;
    uint32_t answer_frames;
    uint32_t answer_bytes;
  };
  std::map<Class, Counts> classes;
  std::map<std::tuple<topology::PortIndex, uint32_t, uint32_t>, int32_t> sent;
  for (const uint32_t number : lane.senders) {
    const Sender& sender = group.senders[number];
    const Exchange& traffic = sender.traffic;
    const auto [at, is_new] = classes.try_emplace(
        {traffic.frames, traffic.bytes, traffic.answer_frames, traffic.answer_bytes});
    if (is_new) {
      at->second = {builder_->AddCount(lane.series, traffic.frames),
                    builder_->AddCount(lane.series, traffic.bytes),
                    builder_->AddCount(lane.series, traffic.answer_frames),
                    builder_->AddCount(lane.series, traffic.answer_bytes)};
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

// Records what a lane has sent on its present paths. BeginSeries must follow before it goes on.
void FlowModel::EndSeries(Lane& lane) {
  if (lane.series == topology::kNone) return;
  Advance(lane);
  lane.series = topology::kNone;
  const double runs = lane.done - lane.series_base;
  if (runs <= 0) return;
  for (const uint32_t number : lane.senders) {
    const Sender& sender = groups_[lane.group].senders[number];
    const auto record = [&](const QueuePair& from, const std::vector<topology::PortIndex>& path,
                            double bytes) {
      if (path.size() < 2 || bytes <= 0) return;
      path_records_[from.identity().number].push_back({.start = lane.series_began,
                                                       .end = now_,
                                                       .ports = {path.begin() + 1, path.end()},
                                                       .bytes = bytes * runs});
    };
    record(*sender.queue_pair, sender.path, sender.traffic.DataBytes());
    record(sender.queue_pair->peer(), sender.way_back, sender.traffic.GrantBytes());
  }
}

}  // namespace rocescope::sim

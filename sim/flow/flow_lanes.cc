// SPDX-License-Identifier: BSD-3-Clause
// Paths of flows, the load that they put on links, and which of them compete.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

void SortUnique(std::vector<uint32_t>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
}

}  // namespace

std::optional<uint32_t> FlowModel::CutOf(const Sender& sender) const {
  if (sender.is_unreachable) return sender.path.size() < 2 ? 0 : 1;
  const topology::NicIndex to = sender.queue_pair->peer().nic().number();
  const uint32_t frame = scenario_.network.nics.mtu + kIpHeaders;
  for (uint32_t i = 0; i < sender.path.size(); ++i) {
    if (state_.capacity[sender.path[i]] <= 0) return i;
    if (i == 0) continue;
    const topology::NodeIndex node = fabric().port(sender.path[i]).node;
    if (state_.mtu[node] < frame && sender.traffic.data_frames > 0) return i;
    if (std::ranges::find(state_.blackholes, std::pair(node, to)) != state_.blackholes.end()) {
      return i;
    }
  }
  for (const topology::PortIndex port : sender.way_back) {
    if (state_.capacity[port] <= 0) return static_cast<uint32_t>(sender.path.size());
  }
  return std::nullopt;
}

double FlowModel::CriticalBytes(const Group& group) const {
  return group.cost != nullptr ? group.cost->critical_bytes() : group.wire_bytes;
}

// With the present routes. While there is no path, frames are lost on the old one.
void FlowModel::FindPaths(Group& group) {
  group.routes = paths_->routes();
  for (Sender& sender : group.senders) {
    const uint32_t path = paths_->Of(sender.queue_pair->identity().number);
    const uint32_t way_back = paths_->Of(sender.queue_pair->peer().identity().number);
    sender.is_unreachable = paths_->ports(path).size() < 2 || paths_->ports(way_back).size() < 2;
    if (sender.is_unreachable && sender.path.size() >= 2) continue;
    if (path != sender.path_number || way_back != sender.way_back_number) StopLosses(sender);
    sender.path_number = path;
    sender.way_back_number = way_back;
    sender.path = paths_->ports(path);
    sender.way_back = paths_->ports(way_back);
  }
  group.ports.clear();
  for (const Sender& sender : group.senders) {
    group.ports.insert(group.ports.end(), sender.path.begin(), sender.path.end());
    group.ports.insert(group.ports.end(), sender.way_back.begin(), sender.way_back.end());
  }
  SortUnique(group.ports);
}

bool FlowModel::HasOtherPaths(const Group& group) {
  return std::ranges::any_of(group.senders, [&](const Sender& sender) {
    return sender.is_unreachable ||
           paths_->Of(sender.queue_pair->identity().number) != sender.path_number ||
           paths_->Of(sender.queue_pair->peer().identity().number) != sender.way_back_number;
  });
}

// What the NICs at both ends allow, and what follows a lost frame.
void FlowModel::FindLimit(Group& group) {
  const double critical = CriticalBytes(group);
  std::map<topology::PortIndex, double> bytes;
  group.limit = group.line_rate * group.load;
  group.more_latency = 0;
  for (Sender& sender : group.senders) {
    const bool was_cut = std::exchange(sender.is_cut, CutOf(sender).has_value());
    if (sender.is_cut && !was_cut) StopLosses(sender);
    bytes[sender.path.front()] += sender.traffic.WireBytes();
    bytes[sender.path.back()] += sender.traffic.WireBytes();
    SimTime added = 0;
    for (const topology::PortIndex port : sender.path) added += state_.added_delay[port];
    // A collective passes each connection about twice on its critical path.
    group.more_latency = std::max(group.more_latency, 2 * added);
  }
  for (const auto& [port, sum] : bytes) {
    const topology::LinkIndex link = fabric().port(port).link;
    const double capacity = static_cast<double>(fabric().link(link).bits_per_second) / 8;
    group.limit = std::min(group.limit, capacity * critical / sum);
  }
  for (Sender& sender : group.senders) {
    sender.round_trip = 0;
    for (const auto* way : {&sender.path, &sender.way_back}) {
      for (const topology::PortIndex port : *way) {
        const topology::Link& link = fabric().link(fabric().port(port).link);
        sender.round_trip += link.delay.count() * kNanosecond + state_.added_delay[port];
        if (way == &sender.path) {
          sender.round_trip +=
              TransmitTime(static_cast<uint64_t>(kFullFrameOnWire), link.bits_per_second);
        }
      }
    }
    // Frames that follow a lost one until its NAK arrives, which the next frame causes and which
    // waits for half a frame in the receiver's NIC.
    constexpr double kUntilNak = 1.5;
    const double in_flight = group.limit * static_cast<double>(sender.round_trip) / kSecond;
    sender.frames_in_flight = in_flight / kFullFrameOnWire + kUntilNak;
  }
  FindLosses(group);
}

void FlowModel::RemoveDemands(uint32_t index) {
  for (const topology::PortIndex port : groups_[index].ports) {
    std::erase(groups_at_[port], index);
    std::erase_if(demands_[port], [&](const Demand& demand) { return demand.group == index; });
    touched_.push_back(port);
  }
}

void FlowModel::AddDemands(uint32_t index) {
  const Group& group = groups_[index];
  const double critical = CriticalBytes(group);
  std::map<topology::PortIndex, double> demands;
  for (const Sender& sender : group.senders) {
    if (sender.is_cut) continue;
    const double rate = group.limit / critical;
    for (const topology::PortIndex port : sender.path) {
      demands[port] += sender.traffic.WireBytes() * rate;
    }
    for (const topology::PortIndex port : sender.way_back) {
      demands[port] += sender.traffic.AnswerWireBytes() * rate;
    }
  }
  for (const topology::PortIndex port : group.ports) groups_at_[port].push_back(index);
  for (const auto& [port, bytes] : demands) demands_[port].push_back({index, bytes});
  touched_.insert(touched_.end(), group.ports.begin(), group.ports.end());
}

// The most that all flows over this port would send. A job is in one phase at a time.
double FlowModel::DemandOf(topology::PortIndex port) const {
  std::map<std::pair<uint32_t, uint32_t>, double> phases;  // by job and phase
  for (const Demand& demand : demands_[port]) {
    const Group& group = groups_[demand.group];
    phases[{group.job, group.phase}] += demand.bytes_per_second;
  }
  double sum = 0;
  double most = 0;  // largest phase of one job
  uint32_t last = topology::kNone;
  for (const auto& [key, bytes] : phases) {
    const auto& [job, phase] = key;
    const bool concurrent =
        job == topology::kNone || (phase == jobs_[job].job->phases().size() &&
                                   !jobs_[job].job->options().checkpoint.blocking);
    if (concurrent) {
      sum += bytes;
      continue;
    }
    if (job != last) {
      sum += std::exchange(most, 0);
      last = job;
    }
    most = std::max(most, bytes);
  }
  return sum + most;
}

void FlowModel::SetPresent(std::span<const uint32_t> groups, bool present) {
  for (const uint32_t index : groups) {
    Group& group = groups_[index];
    if (group.is_present == present) continue;
    group.is_present = present;
    if (present) {
      if (group.routes != paths_->routes()) FindPaths(group);
      group.is_active = group.kind == Group::Kind::kStream;
      continue;
    }
    if (group.is_active) SetActive(index, false);
    for (const Sender& sender : group.senders) StopLosses(sender);
    ++group.version;
    for (const uint32_t lane : group.lanes) Record(lanes_[lane]);
    group.lanes.clear();
    RemoveDemands(index);
  }
  std::vector<uint32_t> changed;
  if (present) changed.assign(groups.begin(), groups.end());
  Update(std::move(changed));
}

void FlowModel::Update(std::vector<uint32_t> groups) {
  const auto is_absent = [&](uint32_t group) { return !groups_[group].is_present; };
  std::erase_if(groups, is_absent);
  SortUnique(groups);
  for (const uint32_t index : groups) {
    Group& group = groups_[index];
    for (const uint32_t lane : group.lanes) Advance(lanes_[lane]);
    RemoveDemands(index);
    if (group.routes != paths_->routes()) {
      for (const uint32_t lane : group.lanes) Record(lanes_[lane]);
      FindPaths(group);
    }
    FindLimit(group);
    AddDemands(index);
  }
  SortUnique(touched_);
  std::vector<uint32_t> all = groups;
  for (const topology::PortIndex port : touched_) {
    // The receivers of marks may be others than before.
    if (ports_[port].rates.marks_per_second > 0) SetRates(port, {});
    ports_[port].current = nullptr;
    // ACKs and clear-to-sends alone, about 1 % of the data, are no competition.
    constexpr double kAnswers = 1.02;
    const double capacity = state_.capacity[port];
    const bool may_exceed = capacity > 0 && DemandOf(port) > capacity * kAnswers;
    if (is_contended_[port] == may_exceed) continue;
    is_contended_[port] = may_exceed;
    all.insert(all.end(), groups_at_[port].begin(), groups_at_[port].end());
  }
  SortUnique(all);
  for (const uint32_t index : all) FindLanes(index);
  SolveRates();
  for (const uint32_t index : all) {
    for (const uint32_t number : groups_[index].lanes) {
      Lane& lane = lanes_[number];
      if (!lane.is_active || lane.is_cut) continue;
      lane.rate = -1;
      SetRate(number, competition_->rate(lane.user));
    }
  }
  for (const topology::PortIndex port : std::exchange(touched_, {})) UpdateCongestion(port);
}

// The senders of each lane, and whether they are cut: those that compete for the same links. If
// there are too many such sets, those whose narrowest links are about equally overloaded share a
// lane.
std::vector<std::pair<bool, std::vector<uint32_t>>> FlowModel::DistributeSenders(
    const Group& group) const {
  std::map<std::pair<bool, std::vector<topology::PortIndex>>, std::vector<uint32_t>> sets;
  for (uint32_t i = 0; i < group.senders.size(); ++i) {
    const Sender& sender = group.senders[i];
    std::vector<topology::PortIndex> ports;
    for (const topology::PortIndex port : sender.path) {
      if (is_contended_[port] && !sender.is_cut) ports.push_back(port);
    }
    sets[{sender.is_cut, std::move(ports)}].push_back(i);
  }
  std::vector<std::pair<bool, std::vector<uint32_t>>> lanes;
  if (sets.size() <= kMostLanes) {
    for (auto& [key, senders] : sets) lanes.emplace_back(key.first, std::move(senders));
    return lanes;
  }
  std::vector<std::tuple<bool, double, std::vector<uint32_t>>> ordered;
  for (auto& [key, senders] : sets) {
    double narrowest = 0;
    for (const topology::PortIndex port : key.second) {
      narrowest = std::max(narrowest, DemandOf(port) / state_.capacity[port]);
    }
    ordered.emplace_back(key.first, narrowest, std::move(senders));
  }
  std::ranges::sort(ordered);
  size_t bucket = kMostLanes;
  for (size_t i = 0; i < ordered.size(); ++i) {
    auto& [is_cut, narrowest, senders] = ordered[i];
    const size_t at = i * kMostLanes / ordered.size();
    if (at != bucket || lanes.back().first != is_cut)
      lanes.emplace_back(is_cut, std::vector<uint32_t>());
    bucket = at;
    lanes.back().second.insert(lanes.back().second.end(), senders.begin(), senders.end());
  }
  for (auto& [is_cut, senders] : lanes) std::ranges::sort(senders);
  return lanes;
}

void FlowModel::FindLanes(uint32_t index) {
  Group& group = groups_[index];
  std::vector<bool> cut;  // by lane
  std::vector<uint32_t> now;
  for (auto& [is_cut, senders] : DistributeSenders(group)) {
    cut.push_back(is_cut);
    now.push_back(LaneOf(index, std::move(senders)));
  }
  if (now != group.lanes) {
    // Each new lane goes on from an earlier lane of its senders, an active one if possible.
    std::vector<uint32_t> old_lane(group.senders.size(), topology::kNone);
    std::map<uint32_t, Lane> old;
    for (const uint32_t number : group.lanes) {
      Lane& lane = lanes_[number];
      Advance(lane);
      for (const uint32_t sender : lane.senders) old_lane[sender] = number;
      old.emplace(number, lane);
      if (std::ranges::find(now, number) != now.end()) continue;
      Record(lane);
      lane.is_active = false;
      lane.version = ++versions_;
      Engage(number);
    }
    for (const uint32_t number : now) {
      if (old.contains(number)) continue;
      Lane& lane = lanes_[number];
      const Lane* from = nullptr;
      for (const uint32_t sender : lane.senders) {
        if (old_lane[sender] == topology::kNone) continue;
        const Lane& other = old.at(old_lane[sender]);
        if (from == nullptr || (other.is_active && !from->is_active)) from = &other;
      }
      lane.is_active = from != nullptr ? from->is_active : group.is_active;
      lane.done = from != nullptr ? from->done : 0;
      lane.is_cut = false;
      lane.penalty_until = from != nullptr ? from->penalty_until : 0;
      lane.updated = lane.began = now_;
      lane.total_at_begin = lane.total;
      lane.per_second = 0;
      builder_->series(lane.series).Add(now_, lane.total);
    }
    group.lanes = now;
    group.open_lanes = static_cast<uint32_t>(
        std::ranges::count_if(now, [&](uint32_t number) { return lanes_[number].is_active; }));
  }
  for (size_t i = 0; i < now.size(); ++i) {
    const uint32_t number = now[i];
    Lane& lane = lanes_[number];
    const bool stays_cut = cut[i] && lane.is_cut && lane.rate == 0;
    lane.is_cut = cut[i];
    if (!stays_cut) lane.rate = -1;
    SetLoads(number);
    Engage(number);
  }
}

// Returns the lane of these senders on their present paths.
uint32_t FlowModel::LaneOf(uint32_t index, std::vector<uint32_t> senders) {
  Group& group = groups_[index];
  std::vector<uint32_t> key;
  for (const uint32_t i : senders) {
    const Sender& sender = group.senders[i];
    key.insert(key.end(), {i, sender.path_number, sender.way_back_number});
  }
  const auto [at, is_new] =
      group.known_lanes.try_emplace(std::move(key), static_cast<uint32_t>(lanes_.size()));
  if (!is_new) return at->second;
  Lane& lane = lanes_.emplace_back();
  lane.group = index;
  lane.senders = std::move(senders);
  lane.user = competition_->AddUser();
  lane_of_user_.push_back(at->second);
  MakeCounts(lane);
  return at->second;
}

std::vector<FlowModel::SentFlow> FlowModel::SentFlows() const {
  std::vector<SentFlow> flows;
  for (const Group& group : groups_) {
    for (const auto& [key, lane] : group.known_lanes) {
      for (size_t i = 0; i + 2 < key.size(); i += 3) {  // sender, path, way back
        flows.push_back({.series = lanes_[lane].series,
                         .sender = &group.senders[key[i]],
                         .path = paths_->ports(key[i + 1]),
                         .way_back = paths_->ports(key[i + 2])});
      }
    }
  }
  return flows;
}

void FlowModel::SetLoads(uint32_t number) {
  const Lane& lane = lanes_[number];
  const Group& group = groups_[lane.group];
  const double critical = CriticalBytes(group);
  std::map<topology::PortIndex, double> shares;
  for (const uint32_t i : lane.senders) {
    const Sender& sender = group.senders[i];
    for (const topology::PortIndex port : sender.path) {
      if (is_contended_[port]) shares[port] += sender.traffic.WireBytes() / critical;
    }
    for (const topology::PortIndex port : sender.way_back) {
      if (is_contended_[port]) shares[port] += sender.traffic.AnswerWireBytes() / critical;
    }
  }
  std::vector<Competition::Load> loads;
  for (const auto& [port, share] : shares) {
    if (share > 0) loads.push_back({port, share});
  }
  competition_->SetUser(lane.user, std::move(loads), group.limit);
}

// Counts the frames of a lane on its paths.
void FlowModel::MakeCounts(Lane& lane) {
  const Group& group = groups_[lane.group];
  lane.series = builder_->AddSeries();
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

// What the lane has sent since its use began. Uses of the same path follow each other.
void FlowModel::Record(Lane& lane) {
  const double runs = lane.total - std::exchange(lane.total_at_begin, lane.total);
  const SimTime began = std::exchange(lane.began, now_);
  if (runs <= 0) return;
  const Group& group = groups_[lane.group];
  for (const uint32_t number : lane.senders) {
    const Sender& sender = group.senders[number];
    const auto record = [&](const QueuePair& from, std::span<const topology::PortIndex> path,
                            double bytes) {
      if (path.size() < 2 || bytes <= 0) return;
      std::vector<PathRecord>& records = path_records_[from.identity().number];
      const auto ports = path.subspan(1);
      if (!records.empty() && std::ranges::equal(records.back().ports, ports)) {
        records.back().end = now_;
        records.back().bytes += bytes * runs;
        return;
      }
      records.push_back({.start = began,
                         .end = now_,
                         .ports = {ports.begin(), ports.end()},
                         .bytes = bytes * runs});
    };
    record(*sender.queue_pair, sender.path, sender.traffic.DataBytes());
    record(sender.queue_pair->peer(), sender.way_back, sender.traffic.GrantBytes());
  }
}

}  // namespace rocescope::sim

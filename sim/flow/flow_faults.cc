// SPDX-License-Identifier: BSD-3-Clause
// Faults and maintenance that begin, grow and end.
#include <algorithm>
#include <utility>

#include "sim/fault/injector.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

// Whether the place of the fault is down in this state, so that the fault has no effect.
bool IsDown(const topology::Fabric& fabric, const FabricState& state, const FaultOptions& fault) {
  switch (InfoOf(fault.kind).place) {
    case PlaceKind::kLink:
      return state.is_down[fault.link];
    case PlaceKind::kSwitch:
      return state.node_is_down[fault.node];
    case PlaceKind::kNic: {
      const topology::Nic& nic = fabric.nic(fault.nic);
      if (state.nic_is_down[fault.nic] || state.node_is_down[nic.host]) return true;
      return fault.kind != FaultKind::kNicCrash && state.is_down[fabric.port(nic.port).link];
    }
    case PlaceKind::kGpu:
      return state.node_is_down[fabric.gpu(fault.gpu).host];
  }
  return false;
}

}  // namespace

bool FlowModel::IsVisibleByItself(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
    case FaultKind::kSwitchCrash:
    case FaultKind::kNicCrash:
    case FaultKind::kPfcStorm:
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
    case FaultKind::kSwappedCables:
    case FaultKind::kDegradedRate:
    case FaultKind::kAddedLatency:
    case FaultKind::kPolarisation:
    case FaultKind::kStraggler:
      return true;
    default:
      return false;
  }
}

void FlowModel::Toggle(uint32_t number, bool on) {
  FaultRecord& record = fault_records_[number];
  const FaultOptions& fault = record.options;
  record.is_active = on;
  record.is_down = on;
  record.severity = SeverityAt(fault, now_, scenario_.duration);
  ChangeState(number);
  if (const auto streams = fault_streams_.find(number); streams != fault_streams_.end()) {
    SetPresent(streams->second, on);
  }
  if (fault.kind == FaultKind::kPolarisation) Reroute();
  if (!on) return;
  if (fault.kind == FaultKind::kFlap) {
    At(now_ + fault.period / 2, [this, number] { Flap(number); });
  }
  if (fault.growth < 1) Grow(number);
}

// The severity changes in steps until the fault ends, as in the packet model.
void FlowModel::Grow(uint32_t number) {
  FaultRecord& record = fault_records_[number];
  const SimTime end = std::min(EndOf(record.options), scenario_.duration);
  if (!record.is_active || now_ >= end) return;
  constexpr SimTime kSteps = 64;
  const SimTime step = std::max<SimTime>(kMicrosecond, (end - record.options.onset) / kSteps);
  record.severity = SeverityAt(record.options, now_ + step / 2, scenario_.duration);
  ChangeState(number);
  if (end - now_ > step) At(now_ + step, [this, number] { Grow(number); });
}

void FlowModel::Flap(uint32_t number) {
  FaultRecord& record = fault_records_[number];
  if (!record.is_active) return;
  record.is_down = !record.is_down;
  ChangeState();
  At(now_ + record.options.period / 2, [this, number] { Flap(number); });
}

void FlowModel::Maintain(const MaintenanceOptions& work) {
  const auto set = [this, &work](bool active, bool is_down) {
    std::erase_if(maintenance_, [&](const auto& one) { return one.options == &work; });
    if (active) maintenance_.push_back({.options = &work, .is_down = is_down});
    ChangeState();
  };
  const SimTime down = work.start + work.drain;
  const SimTime end = down + work.duration;
  if (work.start >= scenario_.duration) return;
  At(work.start, [set] { set(true, false); });
  if (down < scenario_.duration) At(down, [set] { set(true, true); });
  if (end < scenario_.duration) At(end, [set] { set(false, false); });
  const bool is_link = work.kind == MaintenanceKind::kLinkDrain;
  benign_events_.push_back(
      {.kind = is_link                                        ? BenignKind::kLinkDrain
               : work.kind == MaintenanceKind::kSwitchUpgrade ? BenignKind::kSwitchUpgrade
                                                              : BenignKind::kHostReboot,
       .place = is_link ? fabric().NameOfLink(work.link) : fabric().node(work.node).name,
       .direction = {},
       .start = work.start,
       .end = std::min(scenario_.duration, end)});
}

void FlowModel::ChangeState(uint32_t fault) {
  std::vector<ActiveFault> active;
  for (uint32_t number = 0; number < fault_records_.size(); ++number) {
    const FaultRecord& record = fault_records_[number];
    if (!record.is_active) continue;
    active.push_back({.options = &record.options,
                      .number = number,
                      .severity = record.severity,
                      .is_down = record.is_down});
  }
  FabricState after = DeriveState(fabric(), scenario_.network, active, maintenance_);
  NoteVisibleByItself(active);
  NoteOutages(after);
  NoteLinks(after);
  std::vector<topology::PortIndex> ports = ChangedPorts(fabric(), state_, after);
  const FabricState before = std::exchange(state_, std::move(after));
  std::vector<uint32_t> groups;
  for (const topology::PortIndex port : ports) {
    competition_->SetCapacity(port, state_.capacity[port]);
    touched_.push_back(port);
    groups.insert(groups.end(), groups_at_[port].begin(), groups_at_[port].end());
    if (before.rate_factor[port] != state_.rate_factor[port]) {
      const auto speed =
          static_cast<double>(fabric().link(fabric().port(port).link).bits_per_second);
      builder_->SetPort(port, Metric::kLinkSpeed, now_,
                        static_cast<uint64_t>(speed * state_.rate_factor[port]));
    }
  }
  for (const LossSource& source : sources_) {
    if (source.fault != fault || source.cuts) continue;
    const auto add = [&](topology::PortIndex port) {
      groups.insert(groups.end(), groups_at_[port].begin(), groups_at_[port].end());
    };
    if (source.sender != topology::kNone) {
      add(source.sender);
      continue;
    }
    const topology::Node& node = fabric().node(source.node);
    for (uint32_t i = 0; i < node.port_count; ++i) add(node.first_port + i);
  }
  for (const auto& [gpu, factor] : before.slowdown) UpdateGpu(gpu);
  for (const auto& [gpu, factor] : state_.slowdown) UpdateGpu(gpu);
  // A NIC with a slow receiver or a storm pauses the port of the switch.
  for (topology::NicIndex nic = 0; nic < state_.storms.size(); ++nic) {
    if (before.storms[nic] == state_.storms[nic] &&
        before.receive_limit[nic] == state_.receive_limit[nic]) {
      continue;
    }
    touched_.push_back(fabric().Peer(fabric().nic(nic).port));
  }
  Update(std::move(groups));
  if (before.is_drained != state_.is_drained) Reroute();
}

// A fault whose place is down for another reason is not visible before the place is up.
void FlowModel::NoteVisibleByItself(const std::vector<ActiveFault>& active) {
  for (const ActiveFault& fault : active) {
    if (fault_records_[fault.number].visible != kNever || !IsVisibleByItself(fault.options->kind)) {
      continue;
    }
    std::vector<ActiveFault> others = active;
    std::erase_if(others, [&](const ActiveFault& other) { return other.number == fault.number; });
    const FabricState without = DeriveState(fabric(), scenario_.network, others, maintenance_);
    if (!IsDown(fabric(), without, *fault.options)) NoteVisible(fault.number);
  }
}

// Devices that do not answer, with the ports of their NICs.
void FlowModel::NoteOutages(const FabricState& after) {
  const auto note = [&](topology::NodeIndex node, topology::PortIndex port, bool down) {
    const auto open = outages_.find({node, port});
    if (down == (open != outages_.end())) return;
    if (down) {
      outages_[{node, port}] = now_;
      return;
    }
    builder_->AddOutage(node, port, open->second, now_);
    outages_.erase(open);
  };
  for (topology::NodeIndex node = 0; node < after.node_is_down.size(); ++node) {
    note(node, topology::kNone, after.node_is_down[node]);
  }
  for (topology::NicIndex nic = 0; nic < after.nic_is_down.size(); ++nic) {
    const topology::Nic& of = fabric().nic(nic);
    note(of.host, of.port, after.nic_is_down[nic]);
  }
}

// Links that go down or up. Routes follow after the time that routing needs.
void FlowModel::NoteLinks(const FabricState& after) {
  bool is_changed = false;
  for (topology::LinkIndex link = 0; link < after.is_down.size(); ++link) {
    if (after.is_disabled[link] != state_.is_disabled[link]) {
      for (const topology::PortIndex end : fabric().link(link).ends) {
        if (!fabric().node(fabric().port(end).node).IsSwitch()) continue;
        builder_->SetPort(end, Metric::kAdminUp, now_, after.is_disabled[link] ? 0 : 1);
      }
    }
    if (after.is_down[link] == state_.is_down[link]) continue;
    is_changed = true;
    for (const topology::PortIndex end : fabric().link(link).ends) {
      builder_->SetPort(end, Metric::kLinkUp, now_, after.is_down[link] ? 0 : 1);
      if (!after.is_down[link]) continue;
      auto& [series, flaps] = flaps_[end];
      if (flaps == 0) {
        series = builder_->AddSeries();
        builder_->AddToPort(end, Metric::kLinkFlaps, builder_->AddCount(series, 1));
      }
      builder_->series(series).Add(now_, static_cast<double>(flaps));
      builder_->series(series).Add(now_ + 1, static_cast<double>(++flaps));
    }
  }
  if (!is_changed) return;
  const auto delay =
      static_cast<SimTime>(static_cast<double>(scenario_.reroute_delay) * scenario_.time_scale);
  At(now_ + delay, [this] { Reroute(); });
}

void FlowModel::Reroute() {
  std::vector<bool> avoided(state_.is_down.size());
  for (size_t link = 0; link < avoided.size(); ++link) {
    avoided[link] = state_.is_down[link] || state_.is_drained[link];
  }
  const uint32_t before = paths_->routes();
  paths_->SetRoutes(std::move(avoided), state_.hashes_addresses);
  if (paths_->routes() == before) return;
  std::vector<uint32_t> groups;
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    if (groups_[index].is_present && HasOtherPaths(groups_[index])) groups.push_back(index);
  }
  Update(std::move(groups));
}

void FlowModel::NoteRetransmitted(uint32_t fault) {
  fault_records_[fault].retransmitted = RetransmittedNow();
}

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// What each fault kind changes in the fabric.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/fault/injector.h"
#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

// The ports that send over the faulty direction or directions of a link.
std::vector<topology::PortIndex> SendersOf(const topology::Fabric& fabric,
                                           const FaultOptions& options) {
  if (options.sender != topology::kNone) return {options.sender};
  const topology::Link& link = fabric.link(options.link);
  return {link.ends[0], link.ends[1]};
}

}  // namespace

Status FlowModel::AddFault(const FaultOptions& options) {
  if (options.kind == FaultKind::kPfcDeadlock || options.kind == FaultKind::kDeprioritisedCnps) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the flow model cannot simulate {}, which depends on the order of "
                                 "packets in queues: use the packet model",
                                 InfoOf(options.kind).name));
  }
  const auto number = static_cast<uint32_t>(fault_records_.size());
  FaultRecord& record = fault_records_.emplace_back();
  record.options = options;
  const Injector::Happened& happened = simulation_->injector().happened()[number];
  record.culprits = happened.culprits;
  for (const uint32_t culprit : happened.culprits) {
    stream_groups_[number].push_back(static_cast<uint32_t>(groups_.size()));
    AddStreamGroup(simulation_->network().queue_pair(culprit), 1, options.message);
  }
  const topology::Fabric& fabric = simulation_->real_fabric();
  const auto add_source = [&](LossSource source) {
    source.fault = number;
    sources_.push_back(std::move(source));
  };
  switch (options.kind) {
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
      for (const topology::PortIndex sender : SendersOf(fabric, options)) {
        const bool counted = options.kind == FaultKind::kBitErrors;
        add_source({.sender = sender,
                    .probability = options.probability,
                    .counted_fcs = counted,
                    .cause = counted ? "bit_error" : "wire"});
      }
      break;
    case FaultKind::kCorruption:
      add_source({.node = options.node,
                  .probability = options.probability,
                  .counted_icrc = true,
                  .cause = "bad_icrc"});
      break;
    case FaultKind::kBlackhole:
      add_source({.node = options.node, .cuts = true, .cause = "blackhole"});
      break;
    case FaultKind::kMtuMismatch:
      add_source({.node = options.node, .counted_mtu = true, .cuts = true, .cause = "too_long"});
      break;
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
      for (const topology::PortIndex end : fabric.link(options.link).ends) {
        add_source({.sender = end, .cuts = true, .cause = "link_down"});
      }
      break;
    case FaultKind::kSwitchCrash:
      for (const topology::Port& port : fabric.PortsOf(options.node)) {
        if (port.link == topology::kNone) continue;
        for (const topology::PortIndex end : fabric.link(port.link).ends) {
          add_source({.sender = end, .cuts = true, .cause = "device_down"});
        }
      }
      break;
    case FaultKind::kNicCrash: {
      const topology::LinkIndex link = fabric.port(fabric.nic(options.nic).port).link;
      for (const topology::PortIndex end : fabric.link(link).ends) {
        add_source({.sender = end, .cuts = true, .cause = "device_down"});
      }
      break;
    }
    default:
      break;
  }
  At(options.onset, [this, number] { Begin(number); });
  if (const SimTime end = EndOf(options); end < scenario_.duration) {
    At(end, [this, number] { End(number); });
  }
  return {};
}

void FlowModel::Begin(uint32_t number) { Toggle(number, true); }
void FlowModel::End(uint32_t number) { Toggle(number, false); }

void FlowModel::SetSources(uint32_t fault, bool on) {
  for (LossSource& source : sources_) {
    if (source.fault == fault) source.is_active = on;
  }
}

void FlowModel::Toggle(uint32_t number, bool on) {
  const FaultOptions& fault = fault_records_[number].options;
  const topology::Fabric& fabric = simulation_->real_fabric();
  SetSources(number, on);
  switch (fault.kind) {
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
    case FaultKind::kCorruption:
      for (Group& group : groups_) FindLosses(group);
      return;
    case FaultKind::kLinkDown:
      SetLinks({fault.link}, !on, number);
      return;
    case FaultKind::kFlap:
      Flap(number, !on);
      return;
    case FaultKind::kDegradedRate:
      for (const topology::PortIndex port : SendersOf(fabric, fault)) {
        capacity_factor_[port] = on ? fault.factor : 1;
        const auto speed = static_cast<double>(fabric.link(fault.link).bits_per_second);
        builder_->SetPort(port, Metric::kLinkSpeed, now_,
                          static_cast<uint64_t>(speed * capacity_factor_[port]));
      }
      break;
    case FaultKind::kAddedLatency:
      for (const topology::PortIndex port : SendersOf(fabric, fault)) {
        added_delay_[port] = on ? fault.delay : 0;
      }
      break;
    case FaultKind::kPolarisation:
      simulation_->network().switch_at(fault.node).options().hash_fields =
          on ? HashFields::kAddresses : HashFields::kFiveTuple;
      routes_changed_ = true;
      break;
    case FaultKind::kBlackhole:
      if (on) {
        blackholes_[fault.node].push_back(fault.nic);
      } else {
        std::erase(blackholes_[fault.node], fault.nic);
      }
      break;
    case FaultKind::kSwitchCrash: {
      std::vector<topology::LinkIndex> links;
      for (const topology::Port& port : fabric.PortsOf(fault.node)) {
        if (port.link != topology::kNone) links.push_back(port.link);
      }
      node_is_down_[fault.node] = on;
      if (on) outage_began_[number] = now_;
      if (!on) builder_->AddOutage(fault.node, topology::kNone, outage_began_[number], now_);
      SetLinks(links, !on, number);
      return;
    }
    case FaultKind::kNicCrash: {
      const topology::PortIndex port = fabric.nic(fault.nic).port;
      if (on) outage_began_[number] = now_;
      if (!on) {
        builder_->AddOutage(fabric.nic(fault.nic).host, port, outage_began_[number], now_);
      }
      SetLinks({fabric.port(port).link}, !on, number);
      return;
    }
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
      for (const uint32_t index : stream_groups_[number]) SetStream(index, on);
      if (on) NoteAffected(number, kOwnMeasure);
      return;
    case FaultKind::kSlowReceiver:
      receive_limit_[fault.nic] = on ? fault.rate / 8 : 0;
      nic_fault_[fault.nic] = number;
      break;
    case FaultKind::kPfcStorm: {
      storms_[fault.nic] = on;
      const topology::PortIndex port = fabric.Peer(fabric.nic(fault.nic).port);
      Changed();
      SetCongestion(port, 0, on ? kPausesPerSecond : 0, on ? 1 : 0, 0);
      if (on) NoteAffected(number, kOwnMeasure);
      return;
    }
    case FaultKind::kMisconfiguredEcn:
      marks_factor_[fault.node] = on ? 0 : 1;
      node_fault_[fault.node] = number;
      break;
    case FaultKind::kMisconfiguredAlpha:
      pauses_early_[fault.node] = on;
      node_fault_[fault.node] = number;
      break;
    case FaultKind::kLostCnps:
      loses_cnps_[fault.node] = on ? fault.probability : 0;
      node_fault_[fault.node] = number;
      break;
    case FaultKind::kMtuMismatch:
      mtu_[fault.node] = on ? fault.mtu : scenario_.network.switches.mtu;
      break;
    case FaultKind::kStraggler:
      SetStraggler(number, on);
      return;
    case FaultKind::kSwappedCables:  // the fabric is built with them
      if (on) NoteAffected(number, kOwnMeasure);
      return;
    case FaultKind::kPfcDeadlock:
    case FaultKind::kDeprioritisedCnps:
      return;  // refused by AddFault
  }
  if (on && (fault.kind == FaultKind::kDegradedRate || fault.kind == FaultKind::kAddedLatency ||
             fault.kind == FaultKind::kPolarisation)) {
    NoteAffected(number, kOwnMeasure);
  }
  Changed();
}

void FlowModel::SetStraggler(uint32_t number, bool on) {
  const FaultOptions& fault = fault_records_[number].options;
  constexpr double kDefaultFactor = 4;  // as in the packet model
  const double factor = on ? (fault.factor > 1 ? fault.factor : kDefaultFactor) : 1;
  for (JobState& job : jobs_) {
    const auto& gpus = job.job->options().gpus;
    const auto found = std::find(gpus.begin(), gpus.end(), fault.gpu);
    if (found == gpus.end()) continue;
    job.ranks[static_cast<size_t>(found - gpus.begin())].slowdown = factor;
    if (on) NoteAffected(number, kOwnMeasure);
  }
  SetGpuState(fault.gpu, factor);
}

// Takes links down or up. Routes follow after the time that routing needs.
void FlowModel::SetLinks(const std::vector<topology::LinkIndex>& links, bool up, uint32_t fault) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  for (const topology::LinkIndex link : links) {
    if (link_is_down_[link] == !up) continue;
    link_is_down_[link] = !up;
    for (const topology::PortIndex end : fabric.link(link).ends) {
      builder_->SetPort(end, Metric::kLinkUp, now_, up ? 1 : 0);
      if (up) continue;
      auto& [series, flaps] = flaps_[end];
      if (flaps == 0) {
        series = builder_->AddSeries();
        builder_->AddToPort(end, Metric::kLinkFlaps, builder_->AddCount(series, 1));
      }
      builder_->series(series).Add(now_, static_cast<double>(flaps));
      builder_->series(series).Add(now_ + 1, static_cast<double>(++flaps));
    }
  }
  if (!up && fault != topology::kNone) NoteAffected(fault, kOwnMeasure);
  Changed();
  const auto delay =
      static_cast<SimTime>(static_cast<double>(scenario_.reroute_delay) * scenario_.time_scale);
  At(now_ + delay, [this, links] {
    bool is_new = false;
    for (const topology::LinkIndex link : links) {
      is_new |= route_avoids_[link] != link_is_down_[link];
      route_avoids_[link] = link_is_down_[link];
    }
    if (!is_new) return;
    simulation_->network().Reroute(route_avoids_);
    routes_changed_ = true;
    FindPaths();
  });
}

void FlowModel::Flap(uint32_t number, bool up) {
  const FaultOptions& fault = fault_records_[number].options;
  SetLinks({fault.link}, up, number);
  if (now_ >= std::min(EndOf(fault), scenario_.duration)) return;
  At(now_ + fault.period / 2, [this, number, up] {
    const FaultOptions& options = fault_records_[number].options;
    if (now_ < EndOf(options)) Flap(number, !up);
  });
}

void FlowModel::SetStream(uint32_t index, bool on) {
  if (groups_[index].is_active != on) SetActive(index, on);
}

void FlowModel::Changed() { FindPaths(); }

}  // namespace rocescope::sim

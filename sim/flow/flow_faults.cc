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
  At(options.onset, [this, number] { Toggle(number, true); });
  if (const SimTime end = EndOf(options); end < scenario_.duration) {
    At(end, [this, number] { Toggle(number, false); });
  }
  return {};
}

void FlowModel::SetSources(uint32_t fault, bool on) {
  for (LossSource& source : sources_) {
    if (source.fault == fault) source.is_active = on;
  }
}

void FlowModel::Toggle(uint32_t number, bool on) {
  const FaultOptions& fault = fault_records_[number].options;
  const topology::Fabric& fabric = simulation_->real_fabric();
  fault_records_[number].is_active = on;
  SetSources(number, on);
  DeriveState();
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
      SetFlap(number, on);
      return;
    case FaultKind::kSwitchCrash: {
      std::vector<topology::LinkIndex> links;
      for (const topology::Port& port : fabric.PortsOf(fault.node)) {
        if (port.link != topology::kNone) links.push_back(port.link);
      }
      SetOutage(number, on, fault.node, topology::kNone);
      SetLinks(links, !on, number);
      return;
    }
    case FaultKind::kNicCrash: {
      const topology::PortIndex port = fabric.nic(fault.nic).port;
      SetOutage(number, on, fabric.nic(fault.nic).host, port);
      SetLinks({fabric.port(port).link}, !on, number);
      return;
    }
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
      for (const uint32_t index : stream_groups_[number]) SetStream(index, on);
      if (on) NoteAffected(number, kOwnMeasure);
      return;
    case FaultKind::kStraggler:
      SetStraggler(number, on);
      return;
    case FaultKind::kSwappedCables:  // the fabric is built with them
      if (on) NoteAffected(number, kOwnMeasure);
      return;
    case FaultKind::kDegradedRate:
      for (const topology::PortIndex port : SendersOf(fabric, fault)) {
        const auto speed = static_cast<double>(fabric.link(fault.link).bits_per_second);
        builder_->SetPort(port, Metric::kLinkSpeed, now_,
                          static_cast<uint64_t>(speed * capacity_factor_[port]));
      }
      break;
    case FaultKind::kPolarisation:
      simulation_->network().switch_at(fault.node).options().hash_fields =
          on ? HashFields::kAddresses : HashFields::kFiveTuple;
      routes_changed_ = true;
      break;
    case FaultKind::kAddedLatency:
    case FaultKind::kPfcStorm:
    case FaultKind::kBlackhole:
    case FaultKind::kSlowReceiver:
    case FaultKind::kMisconfiguredEcn:
    case FaultKind::kMisconfiguredAlpha:
    case FaultKind::kLostCnps:
    case FaultKind::kMtuMismatch:
      break;
    case FaultKind::kPfcDeadlock:
    case FaultKind::kDeprioritisedCnps:
      return;  // refused by AddFault
  }
  if (on && (fault.kind == FaultKind::kDegradedRate || fault.kind == FaultKind::kAddedLatency ||
             fault.kind == FaultKind::kPolarisation || fault.kind == FaultKind::kPfcStorm)) {
    NoteAffected(number, kOwnMeasure);
  }
  FindPaths();
}

// Several faults may act on one element, so its state follows from all active ones.
void FlowModel::DeriveState() {
  const topology::Fabric& fabric = simulation_->real_fabric();
  std::ranges::fill(capacity_factor_, 1);
  std::ranges::fill(added_delay_, 0);
  std::ranges::fill(receive_limit_, 0);
  storms_.assign(storms_.size(), false);
  node_is_down_.assign(node_is_down_.size(), false);
  std::ranges::fill(mtu_, scenario_.network.switches.mtu);
  std::ranges::fill(marks_factor_, 1);
  pauses_early_.assign(pauses_early_.size(), false);
  std::ranges::fill(loses_cnps_, 0);
  for (auto& holes : blackholes_) holes.clear();
  for (uint32_t number = 0; number < fault_records_.size(); ++number) {
    if (!fault_records_[number].is_active) continue;
    const FaultOptions& fault = fault_records_[number].options;
    switch (fault.kind) {
      case FaultKind::kDegradedRate:
        for (const topology::PortIndex port : SendersOf(fabric, fault)) {
          capacity_factor_[port] = std::min(capacity_factor_[port], fault.factor);
        }
        break;
      case FaultKind::kAddedLatency:
        for (const topology::PortIndex port : SendersOf(fabric, fault)) {
          added_delay_[port] += fault.delay;
        }
        break;
      case FaultKind::kBlackhole:
        blackholes_[fault.node].push_back(fault.nic);
        break;
      case FaultKind::kSwitchCrash:
        node_is_down_[fault.node] = true;
        break;
      case FaultKind::kSlowReceiver:
        receive_limit_[fault.nic] = fault.rate / 8;
        nic_fault_[fault.nic] = number;
        break;
      case FaultKind::kPfcStorm:
        storms_[fault.nic] = true;
        break;
      case FaultKind::kMisconfiguredEcn:
        marks_factor_[fault.node] = 0;
        node_fault_[fault.node] = number;
        break;
      case FaultKind::kMisconfiguredAlpha:
        pauses_early_[fault.node] = true;
        node_fault_[fault.node] = number;
        break;
      case FaultKind::kLostCnps:
        loses_cnps_[fault.node] = fault.probability;
        node_fault_[fault.node] = number;
        break;
      case FaultKind::kMtuMismatch:
        mtu_[fault.node] = std::min(mtu_[fault.node], fault.mtu);
        break;
      default:
        break;  // acts through links, sources, streams, ranks or routes
    }
  }
}

void FlowModel::SetOutage(uint32_t fault, bool on, topology::NodeIndex node,
                          topology::PortIndex port) {
  if (on) {
    open_outages_[fault] = {.node = node, .port = port, .begin = now_, .end = kNever};
  } else {
    EndOutage(fault);
  }
}

void FlowModel::EndOutage(uint32_t fault) {
  const auto open = open_outages_.extract(fault);
  if (open.empty()) return;
  const FlowHistory::Outage& outage = open.mapped();
  // An outage that lasts until the end of the run includes its last moment.
  const SimTime end = now_ == scenario_.duration ? kNever : now_;
  builder_->AddOutage(outage.node, outage.port, outage.begin, end);
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
    const bool was_up = link_down_reasons_[link] == 0;
    link_down_reasons_[link] += up ? -1 : 1;
    if (was_up == (link_down_reasons_[link] == 0)) continue;
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
  FindPaths();
  const auto delay =
      static_cast<SimTime>(static_cast<double>(scenario_.reroute_delay) * scenario_.time_scale);
  At(now_ + delay, [this, links] {
    bool is_new = false;
    for (const topology::LinkIndex link : links) {
      const bool is_down = link_down_reasons_[link] > 0;
      is_new |= route_avoids_[link] != is_down;
      route_avoids_[link] = is_down;
    }
    if (!is_new) return;
    simulation_->network().Reroute(route_avoids_);
    routes_changed_ = true;
    FindPaths();
  });
}

// Takes the link of a flap down or up, and schedules the next change while the fault lasts.
void FlowModel::SetFlap(uint32_t number, bool down) {
  const FaultOptions& fault = fault_records_[number].options;
  if (down != flaps_down_.contains(number)) {
    if (down) {
      flaps_down_.insert(number);
    } else {
      flaps_down_.erase(number);
    }
    SetLinks({fault.link}, !down, number);
  }
  if (!fault_records_[number].is_active) return;
  At(now_ + fault.period / 2, [this, number, down] {
    if (fault_records_[number].is_active) SetFlap(number, !down);
  });
}

void FlowModel::SetStream(uint32_t index, bool on) {
  if (groups_[index].is_active != on) SetActive(index, on);
}

}  // namespace rocescope::sim

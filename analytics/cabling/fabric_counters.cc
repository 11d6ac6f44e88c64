// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/fabric_counters.h"

#include <algorithm>

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

namespace {

CounterSource SourceOf(const CounterEntity& entity) {
  return entity.agent.IsUnspecified() ? CounterSource::kNamed : CounterSource::kSflow;
}

bool IsOfPort(const CounterEntity& entity) {
  return entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic;
}

std::string NameOf(const CounterEntity& entity) {
  return entity.node.empty() ? ToString(entity.agent) : entity.node;
}

}  // namespace

// A switch is identified by its agent's address, any named entity by its name, with or without
// domain.
NodeIndex FabricCounters::FindNode(const CounterEntity& entity) const {
  if (!entity.agent.IsUnspecified()) {
    const NodeIndex node = fabric_.FindSwitchBySflow(entity.agent);
    if (node != kNone || entity.node.empty()) return node;
  }
  const NodeIndex node = fabric_.FindNode(entity.node);
  return node != kNone ? node : fabric_.FindNode(entity.node.substr(0, entity.node.find('.')));
}

FabricCounters::Series* FabricCounters::FindUnexpected(NodeIndex node, const std::string& name) {
  const auto known = unexpected_.find(name);
  if (known != unexpected_.end()) return &known->second;
  if (unexpected_.size() >= kMaxUnexpected) return nullptr;
  return &unexpected_.emplace(name, Series{.node = node}).first->second;
}

FabricCounters::Series* FabricCounters::Find(const CounterEntity& entity, std::string& stranger) {
  const NodeIndex node = FindNode(entity);
  if (node == kNone) {
    // A host's agent may have an address that does not identify the host.
    if (IsOfPort(entity) || !entity.node.empty()) stranger = NameOf(entity);
    return nullptr;
  }
  if (!IsOfPort(entity)) return nullptr;
  PortIndex port = kNone;
  if (entity.port.empty()) {
    port = fabric_.FindPortByNumber(node, entity.index);
  } else if (entity.kind == EntityKind::kNic) {
    const topology::NicIndex nic = fabric_.FindNicByDevice(node, entity.port);
    port = nic == kNone ? kNone : fabric_.nic(nic).port;
  } else {
    port = fabric_.FindPort(node, entity.port);
  }
  if (port == kNone || fabric_.port(port).link == kNone) {
    // A host also has interfaces without an RDMA device.
    if (!fabric_.node(node).IsSwitch()) return nullptr;
    return FindUnexpected(node, fabric_.node(node).name + ":" +
                                    (port != kNone         ? fabric_.port(port).name
                                     : entity.port.empty() ? std::to_string(entity.index)
                                                           : entity.port));
  }
  const auto source = static_cast<size_t>(SourceOf(entity));
  const auto [at, added] = series_[source].try_emplace(port);
  if (added) {
    at->second.node = node;
    at->second.port = port;
    ++ports_of_[source][node];
  }
  return &at->second;
}

FabricCounters::Owner FabricCounters::OwnerOf(const CounterEntity& entity) {
  Owner owner;
  owner.series = Find(entity, owner.stranger);
  return owner;
}

void FabricCounters::Add(const CounterRecord& record) {
  if (IsOfPort(record.entity) && record.entity.priority != CounterEntity::kAllPriorities) return;
  if (!asked_ || !(record.entity == entity_)) {
    entity_ = record.entity;
    owner_ = OwnerOf(entity_);
    asked_ = true;
  }
  if (!owner_.stranger.empty()) strangers_.Add(owner_.stranger);
  if (owner_.series == nullptr) return;
  AddTo(*owner_.series, record.metric, record.value, record.event_time);
}

void FabricCounters::Add(const ReadingRecord& reading, std::span<const uint64_t> values) {
  const CounterEntity& entity = reading.group->entity;
  if (IsOfPort(entity) && entity.priority != CounterEntity::kAllPriorities) return;
  const auto [owner, is_new] = owners_.Of(reading.group);
  if (is_new) owner = OwnerOf(entity);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!owner.stranger.empty()) strangers_.Add(owner.stranger);
    if (owner.series == nullptr) continue;
    AddTo(*owner.series, reading.group->metrics[i], values[i], reading.event_time);
  }
}

void FabricCounters::AddTo(Series& series, Metric metric, uint64_t value, Timestamp time) {
  last_ = std::max(last_, time);
  if (metric == Metric::kLinkUp || metric == Metric::kLinkFlaps) {
    const bool was_down = metric == Metric::kLinkUp ? series.history.AddState(time, value != 0)
                                                    : series.history.AddFlaps(time, value);
    if (was_down && series.port != kNone) interruptions_.push_back({series.port, time});
    return;
  }
  const bool is_received = metric == Metric::kRxBytes;
  if (!is_received && metric != Metric::kTxBytes) return;
  if (series.open != time) {
    series.open = time;
    series.received.reset();
    series.sent.reset();
  }
  (is_received ? series.received : series.sent) = value;
  if (series.received && series.sent) {
    series.history.Add({.time = series.open, .received = *series.received, .sent = *series.sent});
  }
}

void FabricCounters::DropReadingsBefore(PortIndex port, Timestamp time) {
  for (auto& series : series_) {
    const auto at = series.find(port);
    if (at != series.end()) at->second.history.DropReadingsBefore(time);
  }
}

const PortHistory* FabricCounters::Of(CounterSource source, PortIndex port) const {
  const auto& all = series_[static_cast<size_t>(source)];
  const auto at = all.find(port);
  return at == all.end() ? nullptr : &at->second.history;
}

bool FabricCounters::TellsOf(CounterSource source, NodeIndex node) const {
  return ports_of_[static_cast<size_t>(source)].contains(node);
}

const PortHistory* FabricCounters::StateOf(PortIndex port) const {
  const PortHistory* best = nullptr;
  for (const CounterSource source : kCounterSources) {
    const PortHistory* history = Of(source, port);
    if (history == nullptr || !history->up()) continue;
    if (best == nullptr || history->state_readings() > best->state_readings()) best = history;
  }
  return best;
}

}  // namespace rocescope

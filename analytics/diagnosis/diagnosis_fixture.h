// SPDX-License-Identifier: BSD-3-Clause
// For tests of this folder: a small fabric whose ports report the metrics of a healthy fabric in
// each window, until a test changes them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/diagnose.h"
#include "topology/generate.h"

namespace rocescope {

// 16 hosts with one NIC and GPU each: host0 to host3 at leaf0, and so on; two spines. 100 Gb/s, so
// that a link carries at most 12.5 MB in a window of 1 ms.
class DiagnosisTest : public testing::Test {
 protected:
  static constexpr Duration kWindow = std::chrono::milliseconds(1);
  static constexpr size_t kWindows = 20;
  static constexpr uint64_t kLine = 12'500'000;  // bytes per window
  static constexpr uint8_t kRoce = 3;            // the priority of RoCE

  explicit DiagnosisTest(uint32_t spines = 2, uint64_t bits_per_second = 100'000'000'000)
      : fabric_(topology::Generate({.hosts = 16,
                                    .leaves = 4,
                                    .spines = spines,
                                    .host_bits_per_second = bits_per_second,
                                    .fabric_bits_per_second = bits_per_second})
                    .value()) {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      for (const Metric metric :
           {Metric::kTxPackets, Metric::kTxBytes, Metric::kRxPackets, Metric::kRxBytes}) {
        RowOf(EntityOf(port), metric);
      }
      const topology::Link& link = fabric_.link(fabric_.port(port).link);
      for (size_t w = 0; w < kWindows; ++w) {
        Says(port, Metric::kLinkUp, w, 1);
        Says(port, Metric::kLinkSpeed, w, link.bits_per_second);
      }
    }
  }

  // Without counters.
  explicit DiagnosisTest(topology::Fabric fabric) : fabric_(std::move(fabric)) {}

  // Since the epoch.
  static int64_t NumberOf(size_t window) { return 1000 + static_cast<int64_t>(window); }
  static Timestamp Begin(size_t window) { return Timestamp(NumberOf(window) * kWindow); }
  static Timestamp End(size_t window) { return Begin(window + 1); }

  topology::NodeIndex Node(std::string_view name) const { return fabric_.FindNode(name); }
  topology::NicIndex NicOf(std::string_view host) const {
    return fabric_.NicsOf(Node(host)).front();
  }
  topology::GpuIndex GpuOf(std::string_view host) const {
    return fabric_.GpusOf(Node(host)).front();
  }
  IpAddress AddressOf(std::string_view host) const {
    return fabric_.nic(NicOf(host)).addresses.front().address;
  }
  // The port by which `from` sends to `to`.
  topology::PortIndex Port(std::string_view from, std::string_view to) const {
    const topology::Node& node = fabric_.node(Node(from));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric_.PeerNode(node.first_port + i) == Node(to)) return node.first_port + i;
    }
    return topology::kNone;
  }
  Place Link(std::string_view a, std::string_view b) const {
    return {.kind = PlaceKind::kLink, .index = fabric_.port(Port(a, b)).link};
  }
  Place OneWay(std::string_view from, std::string_view to) const {
    Place place = Link(from, to);
    place.sender = Port(from, to);
    return place;
  }
  Place Switch(std::string_view name) const {
    return {.kind = PlaceKind::kSwitch, .index = Node(name)};
  }
  Place Nic(std::string_view host) const { return {.kind = PlaceKind::kNic, .index = NicOf(host)}; }
  Place Gpu(std::string_view host) const { return {.kind = PlaceKind::kGpu, .index = GpuOf(host)}; }

  Entity EntityOf(topology::PortIndex port, uint8_t priority = CounterEntity::kAllPriorities) {
    const topology::NicIndex nic = fabric_.NicOf(port);
    if (nic != topology::kNone) {
      return {.kind = EntityKind::kNic, .index = nic, .priority = priority};
    }
    return {.kind = EntityKind::kPort, .index = port, .priority = priority};
  }
  static Entity OfNic(topology::NicIndex nic) { return {.kind = EntityKind::kNic, .index = nic}; }
  static Entity OfGpu(topology::GpuIndex gpu) { return {.kind = EntityKind::kGpu, .index = gpu}; }

  // A counter grows in a window, and is read at its end.
  void Grows(const Entity& entity, Metric metric, size_t window, uint64_t by) {
    std::optional<uint64_t>& at = RowOf(entity, metric)[window];
    at = at.value_or(0) + by;
  }
  void Grows(topology::PortIndex port, Metric metric, size_t window, uint64_t by,
             uint8_t priority = CounterEntity::kAllPriorities) {
    Grows(EntityOf(port, priority), metric, window, by);
  }
  // Counters are read this long after the ends of the windows.
  void SetReadingDelay(Duration delay) { reading_delay_ = delay; }
  // A gauge is read at a window's end.
  void Says(const Entity& entity, Metric metric, size_t window, uint64_t value) {
    RowOf(entity, metric)[window] = value;
  }
  void Says(topology::PortIndex port, Metric metric, size_t window, uint64_t value,
            uint8_t priority = CounterEntity::kAllPriorities) {
    Says(EntityOf(port, priority), metric, window, value);
  }
  // The entity has no readings from this window on.
  void FallsSilent(const Entity& entity, size_t window) {
    for (auto& [key, row] : rows_) {
      if (!(key.first == entity)) continue;
      for (size_t w = window; w < kWindows; ++w) row[w].reset();
    }
  }
  // The entity has no readings in these windows. The next reading contains the increase of its
  // counters in the meantime.
  void SkipsReadings(const Entity& entity, size_t first, size_t last) {
    for (auto& [key, row] : rows_) {
      if (!(key.first == entity)) continue;
      const bool counter = InfoOf(key.second).kind == MetricKind::kCounter;
      for (size_t w = first; w <= last; ++w) {
        if (counter) *row[last + 1] += row[w].value_or(0);
        row[w].reset();
      }
    }
  }
  // Makes a counter read 0 at the end of the window. In later windows it grows from 0.
  void FallsToZero(topology::PortIndex port, Metric metric, size_t window) {
    FallsToZero(EntityOf(port), metric, window);
  }
  void FallsToZero(const Entity& entity, Metric metric, size_t window) {
    Row& row = RowOf(entity, metric);
    uint64_t before = 0;
    for (size_t w = 0; w < window; ++w) before += *row[w];
    row[window] = -before;
  }
  void NeverTells(const Entity& entity, Metric metric) { rows_.erase({entity, metric}); }

  // A port sends frames of 1000 bytes to its peer; some of them do not arrive.
  void Carries(topology::PortIndex sender, size_t window, uint64_t frames, uint64_t lost = 0,
               uint64_t length = 1000) {
    const topology::PortIndex peer = fabric_.Peer(sender);
    Grows(sender, Metric::kTxPackets, window, frames);
    Grows(sender, Metric::kTxBytes, window, frames * length);
    Grows(peer, Metric::kRxPackets, window, frames - lost);
    Grows(peer, Metric::kRxBytes, window, (frames - lost) * length);
  }

  FlowKey Flow(std::string_view from, std::string_view to, uint32_t qpn = 17) const {
    return {.source = AddressOf(from), .destination = AddressOf(to), .destination_qpn = {qpn}};
  }
  // Returns a path that is known with certainty and was observed from the start of window `first`
  // to the end of window `last`.
  FlowPath PathVia(const std::vector<std::string>& nodes, uint32_t qpn, size_t first = 0,
                   size_t last = kWindows - 1) const {
    FlowPath path{.flow = Flow(nodes.front(), nodes.back(), qpn),
                  .source = NicOf(nodes.front()),
                  .destination = NicOf(nodes.back())};
    PathInterval stretch{.from = Begin(first),
                         .until = End(last) - Duration(1),
                         .state = PathState::kExact,
                         .probability = 1,
                         .candidates = 1,
                         .packets = 1000,
                         .bytes = 1'000'000};
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      stretch.certain.push_back(Port(nodes[i], nodes[i + 1]));
      stretch.path.ports[stretch.path.length++] = stretch.certain.back();
    }
    path.intervals.push_back(std::move(stretch));
    return path;
  }
  void Goes(const std::vector<std::string>& nodes, uint32_t qpn, size_t first = 0,
            size_t last = kWindows - 1) {
    paths_.push_back(PathVia(nodes, qpn, first, last));
  }
  FlowSummary& Sends(std::string_view from, std::string_view to, uint32_t qpn, size_t first = 0) {
    FlowSummary flow{.flow = Flow(from, to, qpn)};
    flow.total.first_seen = Begin(first);
    flow.total.last_seen = End(kWindows - 1);
    flow.total.packets = 1000;
    flow.total.bytes = flow.total.payload_bytes = 1'000'000;
    flows_.push_back(std::move(flow));
    return flows_.back();
  }

  // The two flows are the two directions of one connection.
  void Connects(const FlowKey& there, const FlowKey& back) {
    connections_.push_back({.endpoints = {{{.address = there.source, .qpn = back.destination_qpn},
                                           {.address = back.source, .qpn = there.destination_qpn}}},
                            .state = ConnectionState::kPaired,
                            .confidence = 1});
  }
  // A tap observed retransmitted packets of the flow, and NAKs that the flow carries.
  void Loses(const FlowKey& flow, size_t window, uint32_t retransmitted, uint32_t refused) {
    FlowRecord record{.flow = flow, .tap = UINT16_MAX, .interval_start = Begin(window)};
    record.requests.retransmitted = retransmitted;
    record.naks[static_cast<size_t>(NakKind::kSequenceError)] = refused;
    lossy_.push_back(record);
  }
  // The tap at a switch saw late packets (behind later PSNs) and retransmitted ones of the flow.
  void Sees(std::string_view node, const FlowKey& flow, uint32_t late, uint32_t retransmitted,
            size_t window = 0) {
    FlowRecord record{
        .flow = flow, .tap = static_cast<TapId>(Node(node)), .interval_start = Begin(window)};
    record.requests.reordered = late;
    record.requests.retransmitted = retransmitted;
    lossy_.push_back(record);
  }
  // Sets the delays between two places in each of the windows, replacing earlier ones.
  void Takes(const DelayKey& key, size_t first, size_t last, DelayWindow told) {
    std::vector<DelayWindow>& windows = delays_[key];
    told.next_most = std::max(told.next_most, told.least);
    for (size_t w = first; w <= last; ++w) {
      told.window = NumberOf(w);
      const auto at = std::ranges::lower_bound(windows, told.window, {}, &DelayWindow::window);
      if (at != windows.end() && at->window == told.window) {
        *at = told;
      } else {
        windows.insert(at, told);
      }
    }
  }
  // Returns the pair of places at the ends of `nodes`: the ingress of the first switch and the
  // ingress of the last one.
  DelayKey Way(DelayKind kind, const std::vector<std::string>& nodes) const {
    return {.kind = kind,
            .from = Node(nodes.front()),
            .to = fabric_.Peer(Port(nodes[nodes.size() - 2], nodes.back())),
            .hops = static_cast<uint8_t>(nodes.size() - 1)};
  }

  // Returns the result of `run` for an input of everything set above.
  template <typename Run>
  auto In(Run run) {
    LinkErrors errors(fabric_, {.tolerated = thresholds_.tolerated_frame_errors,
                                .alarms_a_day = thresholds_.link_error_false_alarms});
    LinkLosses losses(fabric_);
    CounterChecks checks(fabric_);
    MetricStore metrics(fabric_, {.window = kWindow, .listeners = {&checks, &errors, &losses}});
    std::vector<CounterRecord> records;
    for (const auto& [key, row] : rows_) Read(key.first, key.second, row, records);
    std::ranges::stable_sort(records, {}, &CounterRecord::event_time);
    for (CounterRecord& record : records) {
      record.event_time += read_later_;
      if (are_ports_from_sflow_ && record.entity.kind == EntityKind::kPort) {
        record.entity.agent = IpAddress::FromV4(0x0a0000fe);
      }
      metrics.Add(record);
    }
    return In(metrics, checks, errors, losses, run);
  }
  // Returns the result of `run` for the same input with these counters only.
  template <typename Run>
  auto In(const MetricStore& metrics, Run run) {
    return In(metrics, CounterChecks(fabric_), LinkErrors(fabric_), LinkLosses(fabric_), run);
  }
  template <typename Run>
  auto In(const MetricStore& metrics, const CounterChecks& checks, const LinkErrors& errors,
          const LinkLosses& link_losses, Run run) {
    std::ranges::sort(paths_, {}, &FlowPath::flow);
    std::ranges::sort(flows_, {}, &FlowSummary::flow);
    const FlowPaths paths(paths_);
    const FlowSummaries flows(flows_);
    const ConnectionList connections(connections_);
    LossTracker losses(fabric_, {.window = kWindow});
    for (topology::NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
      if (!fabric_.node(node).IsSwitch()) continue;
      losses.LearnTap(
          {.tap = static_cast<TapId>(node), .switch_address = fabric_.node(node).erspan_source});
    }
    for (const FlowRecord& record : lossy_) losses.Add(record);
    return run(DiagnosisInput({.fabric = fabric_,
                               .metrics = metrics,
                               .paths = paths,
                               .flows = flows,
                               .connections = connections,
                               .attribution = attribution_,
                               .iteration_patterns = iteration_patterns_,
                               .cabling = cabling_,
                               .delays = delays_,
                               .queue_uses = queues_,
                               .losses = losses,
                               .counter_checks = checks,
                               .link_errors = errors,
                               .link_losses = link_losses,
                               .thresholds = thresholds_,
                               .is_udp_forgeable = is_udp_forgeable_}));
  }
  Findings Diagnosed() {
    return In([](const DiagnosisInput& input) { return Diagnose(input); });
  }
  Findings Diagnosed(const MetricStore& metrics) {
    return In(metrics, [](const DiagnosisInput& input) { return Diagnose(input); });
  }
  Findings Found(void (*detect)(const DiagnosisInput&, Findings&)) {
    return In([&](const DiagnosisInput& input) {
      Findings found;
      detect(input, found);
      return found;
    });
  }

  const topology::Fabric fabric_;
  std::vector<FlowPath> paths_;
  std::vector<FlowSummary> flows_;
  std::vector<Connection> connections_;
  Thresholds thresholds_;
  bool are_ports_from_sflow_ = false;  // the counters of switch ports
  bool is_udp_forgeable_ = false;
  Attribution attribution_;
  Duration read_later_{};  // from the end of each window to its readings
  std::vector<JobIterationPattern> iteration_patterns_;
  CablingAnswer cabling_;
  Delays delays_;
  QueueUses queues_;
  std::vector<FlowRecord> lossy_;

 private:
  using Row = std::vector<std::optional<uint64_t>>;  // by window: increase of a counter, or gauge

  Row& RowOf(const Entity& entity, Metric metric) {
    const bool counter = InfoOf(metric).kind == MetricKind::kCounter;
    return rows_
        .try_emplace({entity, metric}, kWindows,
                     counter ? std::optional<uint64_t>(0) : std::optional<uint64_t>())
        .first->second;
  }
  CounterEntity NameFor(const Entity& entity) const {
    CounterEntity name{.kind = entity.kind, .priority = entity.priority};
    if (entity.kind == EntityKind::kPort) {
      name.node = fabric_.node(fabric_.port(entity.index).node).name;
      name.port = fabric_.port(entity.index).name;
    } else if (entity.kind == EntityKind::kNic) {
      name.node = fabric_.node(fabric_.nic(entity.index).host).name;
      name.port = fabric_.nic(entity.index).device;
    } else {
      name.node = fabric_.node(fabric_.gpu(entity.index).host).name;
      name.index = fabric_.gpu(entity.index).number;
    }
    return name;
  }
  void Read(const Entity& entity, Metric metric, const Row& row,
            std::vector<CounterRecord>& records) const {
    const bool counter = InfoOf(metric).kind == MetricKind::kCounter;
    CounterRecord record{.entity = NameFor(entity), .metric = metric, .event_time = Begin(0)};
    // No counter of a device starts at a round value.
    if (counter) record.value = 12'345'677;
    if (counter) records.push_back(record);
    for (size_t w = 0; w < kWindows; ++w) {
      if (!row[w]) continue;
      record.value = counter ? record.value + *row[w] : *row[w];
      record.event_time = End(w) + reading_delay_;
      records.push_back(record);
    }
  }

  Duration reading_delay_{};
  std::map<std::pair<Entity, Metric>, Row> rows_;
};

}  // namespace rocescope

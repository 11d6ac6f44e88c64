// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/engine/engine.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "analytics/collective/collectives.h"
#include "analytics/congestion/find_hotspots.h"
#include "analytics/congestion/hotspot_traffic.h"
#include "analytics/congestion/marked_queue.h"
#include "analytics/diagnosis/coverage.h"
#include "analytics/diagnosis/diagnose.h"
#include "analytics/job/channel_candidates.h"
#include "analytics/link/links_down.h"
#include "analytics/path/change_reason.h"
#include "topology/near_nic.h"

namespace rocescope {
namespace {

constexpr size_t kAhead = 4;  // records; distance of prefetches

std::shared_ptr<const topology::Fabric> EmptyFabric() {
  return std::make_shared<const topology::Fabric>(*topology::Fabric::Make({}));
}

std::vector<HostNic> NicsOf(const topology::Fabric& fabric) {
  std::vector<HostNic> nics;
  for (const topology::Nic& nic : fabric.nics()) {
    HostNic& one = nics.emplace_back();
    one.host = fabric.node(nic.host).name;
    one.device = nic.device;
    for (const topology::NicAddress& address : nic.addresses)
      one.addresses.push_back(address.address);
  }
  return nics;
}

std::vector<HostGpu> GpusOf(const topology::Fabric& fabric) {
  std::vector<HostGpu> gpus;
  for (topology::GpuIndex i = 0; i < fabric.gpus().size(); ++i) {
    const topology::Gpu& gpu = fabric.gpu(i);
    HostGpu& one = gpus.emplace_back();
    one.host = fabric.node(gpu.host).name;
    one.number = gpu.number;
    one.pci = gpu.pci;
    const topology::NicIndex near = topology::NicNear(fabric, i);
    if (near != topology::kNone) one.device = fabric.nic(near).device;
  }
  return gpus;
}

// A header may contain a port number that the switch does not fill in, and it has no direction: use
// the topology.
TapLocation AsDeclared(TapLocation place, const topology::Fabric& fabric) {
  using topology::TapDirection;
  const topology::NodeIndex node = fabric.FindSwitchByErspan(place.switch_address);
  const auto find = [&](TapSide side, TapDirection direction) {
    if (place.side != TapSide::kUnknown && place.side != side) return topology::kNone;
    return fabric.FindTap(node, place.session, direction);
  };
  const topology::TapIndex ingress = find(TapSide::kIngress, TapDirection::kIngress);
  const topology::TapIndex egress = find(TapSide::kEgress, TapDirection::kEgress);
  for (const topology::TapIndex tap : {ingress, egress}) {
    if (tap != topology::kNone && !fabric.tap(tap).names_port) place.has_port = false;
  }
  if (place.side == TapSide::kUnknown &&
      (ingress == topology::kNone) != (egress == topology::kNone)) {
    place.side = egress == topology::kNone ? TapSide::kIngress : TapSide::kEgress;
  }
  return place;
}

}  // namespace

Engine::Engine(const EngineOptions& options, std::shared_ptr<const topology::Fabric> fabric)
    : options_(options),
      has_fabric_(fabric != nullptr),
      fabric_(has_fabric_ ? std::move(fabric) : EmptyFabric()),
      registry_(options.flows),
      traffic_(registry_),
      connections_(registry_, options.connections),
      activity_(registry_),
      collectives_(options.iteration_pattern_pace),
      paths_(registry_, *fabric_),
      cabling_(registry_, *fabric_),
      counter_checks_(*fabric_),
      link_errors_(*fabric_, {.tolerated = options.thresholds.tolerated_frame_errors,
                              .alarms_a_day = options.thresholds.link_error_false_alarms}),
      link_losses_(*fabric_),
      metrics_(*fabric_, {.window = options.window,
                          .series = options.series,
                          .listeners = {&counter_checks_, &link_errors_, &link_losses_}}),
      delays_(*fabric_, {.window = options.window}),
      losses_(*fabric_, {.window = options.window}),
      marks_(*fabric_, {.window = options.window}),
      queues_(*fabric_, {.window = options.window}),
      anomalies_(*fabric_) {
  registry_.SetIdleTimeout(options.idle_timeout);
  clocks_.SetFabric(fabric_.get());
  activity_.SetClocks(&clocks_);
  paths_.SetClocks(&clocks_);
  connections_.SetFabric(*fabric_);
  SetHostFacts({});
}

void Engine::SetHostFacts(HostFacts facts) {
  if (has_fabric_) {
    facts.nics = NicsOf(*fabric_);
    facts.gpus = GpusOf(*fabric_);
  }
  PlaceRanksOfDefaultLogs(facts.jobs, facts.nics);
  facts.channels = std::make_shared<const ChannelCandidates>(facts.jobs, facts.nics);
  host_facts_ = std::make_shared<const HostFacts>(std::move(facts));
  connections_.SetKnown(KnownPairsOf(*host_facts_), KnownQueuePairsOf(*host_facts_));
  changed_ = true;
}

void Engine::LearnTap(const TapLocation& told) {
  const TapLocation place = AsDeclared(told, *fabric_);
  connections_.LearnTap(place);
  clocks_.LearnTap(place);
  if (!has_fabric_) return;
  paths_.LearnTap(place);
  cabling_.LearnTap(place);
  delays_.LearnTap(place);
  losses_.LearnTap(place);
  marks_.LearnTap(place);
}

void Engine::Ingest(const RecordBatch& batch) {
  if (batch.empty()) return;
  registry_.Intern(batch, batch_flows_);
  connections_.Add(batch, batch_flows_);
  ApplyCuts();
  const std::vector<FlowId>& flows = batch_flows_.flows;
  for (size_t i = 0; i < flows.size(); ++i) {
    if (i + 2 * kAhead < flows.size()) traffic_.Approach(flows[i + 2 * kAhead]);
    if (i + kAhead < flows.size()) traffic_.ApproachStream(flows[i + kAhead]);
    traffic_.Add(flows[i], batch.flows[i]);
  }
  clocks_.Add(batch);
  constexpr uint64_t kSettleEach = 64;
  ++batches_;
  if (std::has_single_bit(batches_) || batches_ % kSettleEach == 0) clocks_.Settle();
  for (size_t i = 0; i < flows.size(); ++i) {
    if (i + kAhead < flows.size()) activity_.Approach(flows[i + kAhead]);
    activity_.Add(flows[i], batch.flows[i]);
  }
  for (size_t i = 0; i < batch.sightings.size(); ++i) {
    activity_.Add(batch_flows_.sightings[i], batch.sightings[i]);
  }
  if (has_fabric_) {
    IngestOnFabric(batch);
    DiagnoseIfDue();
  }
  for (const ObservationRecord& record : batch.sightings) {
    largest_observation_exponent_ = std::max(largest_observation_exponent_, record.rate_exponent);
  }
  changed_ = true;
}

void Engine::IngestOnFabric(const RecordBatch& batch) {
  const std::vector<FlowId>& flows = batch_flows_.flows;
  for (size_t i = 0; i < flows.size(); ++i) {
    if (i + kAhead < flows.size()) paths_.Approach(flows[i + kAhead]);
    paths_.Add(flows[i], batch.flows[i]);
  }
  for (size_t i = 0; i < batch.hops.size(); ++i) paths_.Add(batch_flows_.hops[i], batch.hops[i]);
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    paths_.Add(batch_flows_.samples[i], batch.samples[i]);
  }
  cabling_.Add(batch, batch_flows_);
  delays_.Add(batch);
  for (const FlowRecord& record : batch.flows) losses_.Add(record);
  marks_.Add(batch);
  for (const HopRecord& record : batch.hops) queues_.Add(record);
  metrics_.Add(batch);
}

void Engine::Advance(Timestamp now) {
  registry_.SetTime(now);
  connections_.Advance(now);
  metrics_.Advance(now);
  ApplyCuts();
  changed_ |= connections_.HasNews();
}

void Engine::ApplyCuts() {
  for (const FlowCut& cut : connections_.TakeCuts()) {
    traffic_.Cut(cut.flow, cut.time);
    activity_.Cut(cut.flow);
    paths_.Cut(cut.flow, cut.time);
    changed_ = true;
  }
}

RefusedRecords Engine::Refused() const {
  return {.flows = registry_.refused(),
          .flows_replaced = registry_.replaced(),
          .losses = losses_.refused(),
          .marks = marks_.flows_refused(),
          .marks_evicted = marks_.flows_evicted(),
          .queues = queues_.queues_refused(),
          .delays = delays_.places_refused() + delays_.flows_refused(),
          .metrics = metrics_.Statistics()};
}

std::shared_ptr<const Congestion> Engine::CongestionOn(const FlowPaths& paths,
                                                       const ConnectionList& connections,
                                                       const Attribution& attribution) const {
  std::vector<Hotspot> hotspots =
      HotspotsOf(metrics_, queues_.queues(), MarkedQueues(marks_, paths, connections, *fabric_));
  std::vector<HotspotTraffic> traffic =
      TrafficOf(hotspots, paths, FlowOwners(connections, attribution), metrics_, *fabric_);
  return std::make_shared<const Congestion>(
      Congestion{.hotspots = std::move(hotspots), .traffic = std::move(traffic)});
}

Engine::Answers Engine::AnswersNow() {
  Answers answers{.flows = traffic_.Summaries(), .connections = connections_.Answer()};
  auto attribution = std::make_shared<Attribution>(
      AttributeJobs(*host_facts_, *answers.connections, *answers.flows));
  answers.paths = ExplainChanges(*fabric_, cabling_.LinkChanges(), paths_.Paths());
  answers.iteration_patterns = collectives_.Find(*host_facts_, *answers.connections, *answers.flows,
                                                 activity_, *attribution);
  answers.attribution = std::move(attribution);
  answers.cabling = std::make_shared<const CablingAnswer>(cabling_.Answer());
  return answers;
}

void Engine::Diagnose(const Answers& answers) {
  const DiagnosisInput input({.fabric = *fabric_,
                              .metrics = metrics_,
                              .paths = *answers.paths,
                              .flows = *answers.flows,
                              .connections = *answers.connections,
                              .attribution = *answers.attribution,
                              .iteration_patterns = *answers.iteration_patterns,
                              .cabling = *answers.cabling,
                              .delays = delays_.delays(),
                              .queue_uses = delays_.queues(),
                              .losses = losses_,
                              .counter_checks = counter_checks_,
                              .link_errors = link_errors_,
                              .link_losses = link_losses_,
                              .thresholds = options_.thresholds,
                              .is_udp_forgeable = options_.is_udp_forgeable});
  findings_ = std::make_shared<const Findings>(
      history_.Update(rocescope::Diagnose(input, history_.Lasting(input)), input));
  coverage_ = std::make_shared<const DiagnosisCoverage>(CoverageOf(input));
  if (coverage_->hindrance.obstacle == Obstacle::kForeignTopology) {
    history_ = {};  // earlier findings came from the wrong topology, too
    findings_ = std::make_shared<const Findings>();
  }
  if (const auto read = metrics_.WindowsRead()) diagnosed_ = read->second;
}

void Engine::DiagnoseIfDue() {
  constexpr int64_t kPace = 64;  // windows
  const auto read = metrics_.WindowsRead();
  if (!read) return;
  if (!diagnosed_ || *diagnosed_ > read->second) diagnosed_ = read->first;
  if (read->second - *diagnosed_ >= kPace) Diagnose(AnswersNow());
}

std::shared_ptr<const Snapshot> Engine::Publish() {
  if (!changed_) return last_;
  auto [flows, connections, attribution, paths, iteration_patterns, cabling] = AnswersNow();
  auto congestion = CongestionOn(*paths, *connections, *attribution);
  auto link_loads = std::make_shared<const LinkLoads>(LinkLoadsOf(*fabric_, metrics_, *paths));
  if (has_fabric_) {
    Diagnose({flows, connections, attribution, paths, iteration_patterns, cabling});
  }
  anomalies_.Update(metrics_);
  auto anomalies = std::make_shared<const Anomalies>(anomalies_.Answer());
  auto service_levels = std::make_shared<const ServiceLevels>(
      service_levels_.Update(has_fabric_ ? fabric_.get() : nullptr, &metrics_, *attribution,
                             *iteration_patterns, options_.window));
  last_ = std::make_shared<const Snapshot>(
      Snapshot{.host_facts = host_facts_,
               .flows = std::move(flows),
               .traffic_statistics = traffic_.Statistics(),
               .connections = std::move(connections),
               .connection_statistics = connections_.Statistics(),
               .attribution = std::move(attribution),
               .iteration_patterns = std::move(iteration_patterns),
               .fabric = has_fabric_ ? fabric_ : nullptr,
               .paths = std::move(paths),
               .congestion = std::move(congestion),
               .link_loads = std::move(link_loads),
               .anomalies = std::move(anomalies),
               .service_levels = std::move(service_levels),
               .findings = findings_,
               .diagnosis_coverage = coverage_,
               .cabling = std::move(cabling),
               .clocks = std::make_shared<const ClockAnswer>(clocks_.Answer()),
               .path_statistics = paths_.Statistics(),
               .impossible_delays = delays_.impossible(),
               .links_never_up = LinksNeverUp(*fabric_, metrics_),
               .reading_problem = metrics_.trouble(),
               .refused = Refused(),
               .largest_observation_exponent = largest_observation_exponent_});
  changed_ = false;
  return last_;
}

}  // namespace rocescope

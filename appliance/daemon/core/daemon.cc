// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/daemon.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "analytics/engine/engine.h"
#include "appliance/common/files/host_files.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/process/step_back.h"
#include "appliance/daemon/core/analysis_loop.h"
#include "appliance/daemon/core/dpdk_source.h"
#include "appliance/daemon/core/memory_text.h"
#include "appliance/daemon/intake/agent_loop.h"
#include "base/thread_name.h"
#include "dataplane/source/wall_clock.h"
#include "topology/fabric.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

Result<std::shared_ptr<const topology::Fabric>> LoadTopology(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{1} << 30;
  const Result<std::string> text = ReadTextFile(path, kLargest);
  if (!text) return tl::unexpected(text.error());
  Result<topology::Fabric> fabric = topology::LoadFabric(*text, path);
  if (!fabric) return tl::unexpected(fabric.error());
  return std::make_shared<const topology::Fabric>(*std::move(fabric));
}

// In large fabrics, detecting iteration periods is the most expensive step, so it runs once in
// several windows.
EngineOptions OptionsOf(const ApplianceConfig& config, const topology::Fabric* fabric,
                        size_t series) {
  constexpr size_t kLargeFabric = 4096;  // NICs
  constexpr int kWindowsAIterationPattern = 10;
  // Longer than the pauses of a job and the timeouts that end a hanging one.
  constexpr Duration kIdleTimeout = std::chrono::hours(6);
  EngineOptions options = {.series = series,
                           .idle_timeout = kIdleTimeout,
                           .window = config.analysis_window,
                           .thresholds = config.diagnosis,
                           .is_udp_forgeable = true};
  if (fabric != nullptr && fabric->nics().size() > kLargeFabric) {
    options.iteration_pattern_pace = kWindowsAIterationPattern * config.analysis_window;
  }
  return options;
}

// Which senders of INT reports and sFlow are accepted; null: all. A switch of the topology may send
// from any of its addresses there.
std::shared_ptr<const SenderCheck> SendersOf(const UdpConfig& config,
                                             const topology::Fabric* fabric) {
  if (fabric == nullptr && config.senders.empty()) return nullptr;
  auto check = std::make_shared<SenderCheck>();
  for (const IpPrefix& sources : config.senders) check->AllowSources(sources);
  if (fabric == nullptr) return check;
  for (const topology::Node& node : fabric->nodes()) {
    if (!node.sflow_agent.IsUnspecified()) check->KnowAgent(node.sflow_agent);
    if (node.int_switch_id != topology::kNone) check->KnowNode(node.int_switch_id);
    for (const IpAddress& source : {node.sflow_agent, node.erspan_source}) {
      if (source.IsUnspecified()) continue;
      if (!node.sflow_agent.IsUnspecified()) check->AllowAgent(node.sflow_agent, source);
      if (node.int_switch_id != topology::kNone) check->AllowNode(node.int_switch_id, source);
    }
  }
  return check;
}

}  // namespace

struct Daemon::Analysis {
  std::optional<Engine> engine;  // recreated by the loop if the clock was set back
  std::optional<AnalysisLoop> loop;
};

// Half of what the topology leaves of the budget is for counters, but at least an eighth of the
// budget. A series that changes in each window takes 5 KB. The rest is for windows without a
// reading and for the service levels of its entity.
size_t Daemon::series_limit() const {
  constexpr uint64_t kBytesASeries = 8192;
  constexpr uint64_t kBytesALink = 8192;  // measured: 7.7 KB with 60,000 hosts and 124,000 links
  const uint64_t budget = memory_budget();
  const uint64_t topology = fabric_ ? fabric_->links().size() * kBytesALink : 0;
  const uint64_t left = budget - std::min(topology, budget / 4 * 3);
  return static_cast<size_t>(left / 2 / kBytesASeries);
}

Status Daemon::LoadFacts() {
  ReturnFreeMemory();
  const uint64_t before = ResidentBytes();
  if (!config_.topology.empty()) {
    auto loaded = LoadTopology(config_.topology);
    if (!loaded) return tl::unexpected(loaded.error());
    fabric_ = *std::move(loaded);
    node_names_ = NodeNames(*fabric_);
  }
  Result<HostFiles> hosts = ReadHosts();
  if (!hosts) return tl::unexpected(hosts.error());
  TakeHosts(*std::move(hosts));
  MakeEngine();
  if (fabric_) {
    ReturnFreeMemory();
    topology_bytes_ = std::max(ResidentBytes(), before) - before;
    const std::string text = TopologyMemoryText(topology_bytes_, memory_budget());
    if (!text.empty()) notify_(Severity::kWarning, text);
  }
  return {};
}

Result<HostFiles> Daemon::ReadHosts() const {
  return ReadHostFiles({.nccl_logs = config_.host_files.nccl_logs,
                        .rdma = config_.host_files.rdma,
                        .slurm = config_.host_files.slurm});
}

void Daemon::TakeHosts(HostFiles hosts) {
  for (const std::string& note : hosts.notes) notify_(Severity::kWarning, note);
  facts_.SetFiles(std::move(hosts));
}

void Daemon::MakeEngine() {
  analysis_->engine.emplace(OptionsOf(config_, fabric_.get(), series_limit()), fabric_);
  analysis_->engine->SetHostFacts(Facts().All());
}

// Tap IDs are assigned in this order: interfaces, sockets, DPDK ports.
Status Daemon::OpenSources() {
  if (const Status some = CheckSources(config_); !some) return some;
  std::vector<std::string> names;
  for (const InterfaceConfig& interface : config_.interfaces) {
    names.push_back(interface.tap.empty() ? interface.name : interface.tap);
  }
  const auto first_socket = static_cast<TapId>(names.size());
  for (const auto* addresses : {&config_.udp.int_reports, &config_.udp.sflow}) {
    for (const ListenAddress& address : *addresses) names.push_back("udp " + ToString(address));
  }
  const auto first_port = static_cast<TapId>(names.size());
  std::unique_ptr<DpdkSource> dpdk;
  if (!config_.dpdk.eal.empty()) {
    auto opened = DpdkSource::Open(config_.dpdk, notify_);
    if (!opened) return tl::unexpected(opened.error());
    dpdk = *std::move(opened);
    for (const std::string& name : dpdk->PortNames()) names.push_back(name);
  }
  const auto taps = std::make_shared<TapRegistry>(names);
  FrameProcessor::Options processor;
  processor.taps = taps;
  processor.telemetry_senders = SendersOf(config_.udp, fabric_.get());
  processor.flow_table.interval = config_.record_interval;
  const size_t threads = config_.interfaces.size() + (dpdk ? dpdk->lcores() : 0);
  if (threads > 1) {  // limits of the observation are shared by all threads
    ObservationBudget::Options& sightings = processor.flow_table.sightings;
    sightings.rate = std::make_shared<ObservationRate>(ObservationRate::Options{});
    const auto count = static_cast<uint32_t>(threads);
    sightings.always_per_interval = (sightings.always_per_interval + count - 1) / count;
  }
  for (size_t i = 0; i < config_.interfaces.size(); ++i) {
    const Status added =
        Add(OpenInterfaceSource(config_.interfaces[i], processor, static_cast<TapId>(i), notify_));
    if (!added) return added;
  }
  if (first_port > first_socket) {
    const Status added = Add(OpenUdpSource(config_.udp, processor, first_socket));
    if (!added) return added;
  }
  if (dpdk) {
    if (const Status prepared = dpdk->Prepare(processor, first_port); !prepared) return prepared;
    sources_.push_back(std::move(dpdk));
  }
  if (!config_.scrape.targets.empty()) {
    if (const Status added = Add(OpenScrapeSource(config_.scrape, memory_budget())); !added) {
      return added;
    }
  }
  sources_.push_back(MakeAgentSource(
      intake_, std::make_unique<AgentLoop>(
                   intake_, [this](const std::string& host) { return NodeNamed(host); },
                   [this](AgentFacts said) { SetAgentFacts(std::move(said)); },
                   AgentFactsBuilder::LimitsFor(memory_budget()))));
  std::vector<RecordExchange*> records;
  for (const auto& source : sources_) {
    for (RecordExchange* const exchange : source->Records()) records.push_back(exchange);
  }
  analysis_->loop.emplace(*analysis_->engine, std::move(records), answers_,
                          AnalysisLoop::Options{.window = config_.analysis_window,
                                                .taps = taps,
                                                .restart = [this] { MakeEngine(); },
                                                .notify = notify_,
                                                .host_facts = [this] { return Facts().All(); },
                                                .count_records = [this] { return CountRecords(); },
                                                .memory = memory_budget(),
                                                .series = series_limit()});
  return {};
}

RecordCounts Daemon::CountRecords() const {
  RecordCounts all;
  for (const auto& source : sources_) {
    const SourceStatistics counted = source->Statistics();
    all.taken += counted.records;
    all.given_up += counted.records_dropped;
  }
  return all;
}

Status Daemon::Add(SourceResult opened) {
  if (!opened) return tl::unexpected(opened.error());
  sources_.push_back(*std::move(opened));
  return {};
}

void Daemon::SetAgentFacts(AgentFacts said) {
  {
    const std::lock_guard lock(facts_mutex_);
    facts_.SetAgents(std::move(said));
  }
  FactsChanged();
}

// With declared domains, a host of another domain with the same first label is another host.
std::vector<topology::NodeIndex> Daemon::NodesOfHost(std::string_view host) const {
  std::vector<topology::NodeIndex> nodes = node_names_.Find(host);
  if (config_.agents.domains.empty()) return nodes;
  std::erase_if(nodes, [&](topology::NodeIndex node) {
    return !IsSameName(host, fabric_->node(node).name, config_.agents);
  });
  return nodes;
}

std::string Daemon::NodeNamed(const std::string& host) const {
  if (!fabric_) return host;
  const std::vector<topology::NodeIndex> nodes = NodesOfHost(host);
  if (!nodes.empty()) return fabric_->node(nodes.front()).name;
  // The data is used anyway, because its queue pairs may be peers of known hosts.
  notify_(
      Severity::kWarning,
      fmt::format("agent host {} is not in the topology: set `host` in the agent configuration to "
                  "the name in the topology",
                  host));
  return host;
}

KnownFacts Daemon::Facts() {
  const std::lock_guard lock(facts_mutex_);
  return facts_;
}

void Daemon::FactsChanged() {
  if (analysis_->loop) analysis_->loop->HostFactsChanged();
}

Result<std::unique_ptr<Daemon>> Daemon::Open(const ApplianceConfig& config, Notify notify) {
  std::unique_ptr<Daemon> daemon(new Daemon(config, std::move(notify)));
  if (const Status loaded = daemon->LoadFacts(); !loaded) return tl::unexpected(loaded.error());
  if (const Status opened = daemon->OpenSources(); !opened) return tl::unexpected(opened.error());
  return daemon;
}

std::unique_ptr<Daemon> Daemon::Holding(Answer answer,
                                        std::shared_ptr<const topology::Fabric> fabric,
                                        Duration window) {
  ApplianceConfig config;
  config.analysis_window = window;
  std::unique_ptr<Daemon> daemon(new Daemon(config, {}));
  daemon->fabric_ = std::move(fabric);
  if (daemon->fabric_) daemon->node_names_ = NodeNames(*daemon->fabric_);
  daemon->answers_.Publish(std::move(answer));
  return daemon;
}

Daemon::Daemon(const ApplianceConfig& config, Notify notify)
    : config_(config),
      notify_(std::move(notify)),
      intake_(config.agents, [this](std::string_view host) { return !NodesOfHost(host).empty(); }),
      analysis_(std::make_unique<Analysis>()) {}

Daemon::~Daemon() { Stop(); }

void Daemon::Start() {
  runs_ = true;
  started_at_ = WallClock();
  std::promise<void> analysed;
  analysed_ = analysed.get_future();
  analyst_ = std::thread([this, analysed = std::move(analysed)]() mutable {
    NameThread("analysis");
    LowerThreadPriority();
    analysis_->loop->Run(sources_ended_);
    analysed.set_value();
  });
  for (const auto& source : sources_) source->Start();
}

bool Daemon::Stop(std::chrono::milliseconds most) {
  if (std::exchange(runs_, false)) {
    intake_.Close();
    for (const auto& source : sources_) source->Stop();
    for (const auto& source : sources_) source->Join();
    sources_ended_.store(true, std::memory_order_release);
  }
  if (!analyst_.joinable()) return true;
  const bool ended = analysed_.wait_for(most) == std::future_status::ready;
  if (ended) analyst_.join();
  answers_.Close();
  return ended;
}

void Daemon::SetAllocations(std::vector<Allocation> allocations) {
  {
    const std::lock_guard lock(facts_mutex_);
    facts_.SetAllocations(std::move(allocations));
  }
  FactsChanged();
}

Status Daemon::ReadHostFilesAgain() {
  // Read outside the lock, because calls and agents need it.
  Result<HostFiles> hosts = ReadHosts();
  if (!hosts) return tl::unexpected(hosts.error());
  {
    const std::lock_guard lock(facts_mutex_);
    TakeHosts(*std::move(hosts));
  }
  FactsChanged();
  return {};
}

std::vector<Heartbeat> Daemon::Heartbeats() const {
  std::vector<Heartbeat> beats;
  if (analysis_->loop) beats.push_back({.name = "analysis", .beats = analysis_->loop->beats()});
  for (const auto& source : sources_) {
    const SourceState state = source->State();
    if (!state.error.empty()) continue;
    for (const uint64_t count : source->Beats()) {
      beats.push_back({.name = state.name, .beats = count});
    }
  }
  return beats;
}

Senders Daemon::LastSenders() const {
  Senders all;
  for (const auto& source : sources_) all.Merge(source->LastSenders());
  return all;
}

std::vector<SourceState> Daemon::Sources() const {
  std::vector<SourceState> states;
  for (const auto& source : sources_) {
    if (source->IsListed()) states.push_back(source->State());
  }
  return states;
}

}  // namespace rocescope

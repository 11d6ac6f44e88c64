// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/box.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "analytics/engine/engine.h"
#include "analytics/job/host_name.h"
#include "appliance/common/files/host_files.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/process/step_back.h"
#include "appliance/common/scrape/scrape_loop.h"
#include "appliance/daemon/core/analysis_loop.h"
#include "appliance/daemon/core/dpdk_source.h"
#include "appliance/daemon/core/known_facts.h"
#include "appliance/daemon/intake/agent_loop.h"
#include "base/thread_name.h"
#include "dataplane/live/interface_loop.h"
#include "dataplane/live/udp_loop.h"
#include "dataplane/source/wall_clock.h"
#include "topology/fabric.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

// A source: either a thread of its own or the lcores of DPDK. Exactly one of the five members is
// set.
struct Source {
  std::string name;
  SourceKind kind = SourceKind::kInterface;
  std::unique_ptr<InterfaceLoop> interface;
  std::unique_ptr<UdpLoop> udp;
  std::unique_ptr<DpdkSource> dpdk;
  std::unique_ptr<ScrapeLoop> scrape;
  std::unique_ptr<AgentLoop> agents;
  AgentIntake* intake = nullptr;  // for kind `agents`
  std::thread thread;             // unused for DPDK
  mutable std::mutex mutex;       // guards `error`
  std::string error;

  FrameWorker& worker() { return interface ? interface->worker() : udp->worker(); }
  const FrameWorker& worker() const { return interface ? interface->worker() : udp->worker(); }

  std::vector<RecordExchange*> Records() {
    if (dpdk) return dpdk->Records();
    if (scrape) return {&scrape->records()};
    if (agents) return {&agents->records()};
    return {&worker().records()};
  }

  Senders LastSenders() const {
    if (dpdk) return dpdk->LastSenders();
    return scrape || agents ? Senders{} : worker().LastSenders();
  }

  std::vector<uint64_t> Beats() const {
    if (dpdk) return dpdk->Beats();
    if (agents) return {agents->beats()};
    return {scrape ? scrape->beats() : worker().beats()};
  }

  SourceStatistics Statistics() const {
    if (dpdk) return dpdk->Statistics();
    if (agents) return agents->Statistics();
    return scrape ? scrape->Statistics() : worker().Statistics();
  }

  SourceState State() const {
    SourceState state = {.name = name, .kind = kind};
    if (dpdk) {
      state.statistics = dpdk->Statistics();
      state.ports = dpdk->Ports();
      state.error = dpdk->Error();
      state.problems = dpdk->Problems();
      return state;
    }
    if (scrape) {
      state.statistics = scrape->Statistics();
      state.problems = scrape->Problems();
      return state;
    }
    if (agents) {
      state.statistics = agents->Statistics();
      state.problems = intake->Problems(WallClock());
      for (std::string& trouble : agents->Problems()) state.problems.push_back(std::move(trouble));
      state.agents = intake->Agents();
      return state;
    }
    for (size_t i = 0; udp && i < udp->receiver().sockets(); ++i) {
      const UdpAddress where = udp->receiver().AddressOf(i);
      state.listens.push_back({.address = where.address, .port = where.port});
    }
    state.statistics = worker().Statistics();
    const std::lock_guard lock(mutex);
    state.error = error;
    return state;
  }

  void Run(const std::atomic<bool>& stop) {
    if (udp) return udp->Run(stop);
    if (scrape) return scrape->Run(stop);
    if (agents) return agents->Run(stop);
    if (const Status ended = interface->Run(stop); !ended) {
      const std::lock_guard lock(mutex);
      error = ended.error().message;
    }
  }
};

std::vector<UdpAddress> AddressesOf(const std::vector<ListenAddress>& listen) {
  std::vector<UdpAddress> addresses;
  for (const ListenAddress& one : listen) {
    addresses.push_back({.address = one.address, .port = one.port});
  }
  return addresses;
}

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
EngineOptions OptionsOf(const ApplianceConfig& config, const topology::Fabric* fabric) {
  constexpr size_t kLargeFabric = 4096;  // NICs
  constexpr int kWindowsAIterationPattern = 10;
  EngineOptions options = {.window = config.analysis_window, .thresholds = config.diagnosis};
  if (fabric != nullptr && fabric->nics().size() > kLargeFabric) {
    options.iteration_pattern_pace = kWindowsAIterationPattern * config.analysis_window;
  }
  return options;
}

}  // namespace

std::string_view NameOf(SourceKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"interface", "udp", "dpdk", "scrape",
                                                      "agents"};
  return kNames[static_cast<size_t>(kind)];
}

struct Box::Parts {
  ApplianceConfig config;
  std::function<void(const std::string&)> tell;
  Timestamp started_at;
  AgentIntake intake;
  std::mutex facts_mutex;  // guards the next member
  KnownFacts facts;
  std::shared_ptr<const topology::Fabric> fabric;
  std::optional<Engine> engine;  // recreated if the clock was set back
  Answers answers;
  std::vector<std::unique_ptr<Source>> sources;
  std::unique_ptr<AnalysisLoop> analysis;
  std::thread analyst;
  std::atomic<bool> stop = false;
  std::atomic<bool> sources_ended = false;
  bool runs = false;

  explicit Parts(const ApplianceConfig& given)
      : config(given), intake(given.agents), engine(std::in_place, OptionsOf(given, nullptr)) {}

  Status LoadFacts();
  RecordCounts CountRecords() const;
  Result<HostFiles> ReadHosts() const;
  void TakeHosts(HostFiles hosts);  // requires facts_mutex
  Status OpenSources();
  // Called by the analysis thread.
  void Restart();
  void SetAgentFacts(AgentFacts said);
  // The topology's name for this host, which may be a longer or shorter form. If there is none,
  // reports that and returns the name unchanged.
  std::string NodeNamed(const std::string& host) const;
  void TellFacts();  // to the analysis; requires facts_mutex

 private:
  Source& Add(SourceKind kind, std::string name) {
    Source& source = *sources.emplace_back(std::make_unique<Source>());
    source.kind = kind;
    source.name = std::move(name);
    return source;
  }
  Status OpenInterfaces(const FrameProcessor::Options& processor);
  Status OpenSockets(const FrameProcessor::Options& processor, TapId first_tap);
};

Status Box::Parts::LoadFacts() {
  if (!config.topology.empty()) {
    auto loaded = LoadTopology(config.topology);
    if (!loaded) return tl::unexpected(loaded.error());
    fabric = *std::move(loaded);
    engine.emplace(OptionsOf(config, fabric.get()), fabric);
  }
  Result<HostFiles> hosts = ReadHosts();
  if (!hosts) return tl::unexpected(hosts.error());
  TakeHosts(*std::move(hosts));
  engine->SetHostFacts(facts.All());
  return {};
}

Result<HostFiles> Box::Parts::ReadHosts() const {
  return ReadHostFiles({.nccl_logs = config.host_files.nccl_logs,
                        .rdma = config.host_files.rdma,
                        .slurm = config.host_files.slurm});
}

void Box::Parts::TakeHosts(HostFiles hosts) {
  for (const std::string& note : hosts.notes) tell(note);
  facts.SetFiles(std::move(hosts));
}

void Box::Parts::Restart() {
  engine.emplace(OptionsOf(config, fabric.get()), fabric);
  const std::lock_guard lock(facts_mutex);
  engine->SetHostFacts(facts.All());
}

// Tap IDs are assigned in this order: interfaces, sockets, DPDK ports.
Status Box::Parts::OpenSources() {
  std::vector<std::string> names;
  for (const InterfaceConfig& interface : config.interfaces) {
    names.push_back(interface.tap.empty() ? interface.name : interface.tap);
  }
  const auto first_socket = static_cast<TapId>(names.size());
  for (const auto* addresses : {&config.udp.int_reports, &config.udp.sflow}) {
    for (const ListenAddress& address : *addresses) names.push_back("udp " + ToString(address));
  }
  const auto first_port = static_cast<TapId>(names.size());
  std::unique_ptr<DpdkSource> dpdk;
  if (!config.dpdk.eal.empty()) {
    auto opened = DpdkSource::Open(config.dpdk, tell);
    if (!opened) return tl::unexpected(opened.error());
    dpdk = *std::move(opened);
    for (const std::string& name : dpdk->PortNames()) names.push_back(name);
  }
  if (names.empty() && config.scrape.targets.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "no sources are configured: set interfaces, dpdk, udp or scrape (`rocescope "
                     "config dump` lists all keys)");
  }
  const auto taps = std::make_shared<TapRegistry>(names);
  FrameProcessor::Options processor;
  processor.taps = taps;
  processor.flow_table.interval = config.record_interval;
  const size_t threads = config.interfaces.size() + (dpdk ? dpdk->lcores() : 0);
  if (threads > 1) {  // limits of the observation are shared by all threads
    ObservationBudget::Options& sightings = processor.flow_table.sightings;
    sightings.rate = std::make_shared<ObservationRate>(ObservationRate::Options{});
    const auto count = static_cast<uint32_t>(threads);
    sightings.always_per_interval = (sightings.always_per_interval + count - 1) / count;
  }
  if (const Status opened = OpenInterfaces(processor); !opened) return opened;
  if (first_port > first_socket) {
    if (const Status opened = OpenSockets(processor, first_socket); !opened) return opened;
  }
  if (dpdk) {
    if (const Status prepared = dpdk->Prepare(processor, first_port); !prepared) return prepared;
    Add(SourceKind::kDpdk, "dpdk").dpdk = std::move(dpdk);
  }
  if (!config.scrape.targets.empty()) {
    auto scrape = ScrapeLoop::Make(config.scrape);
    if (!scrape) return tl::unexpected(scrape.error());
    Add(SourceKind::kScrape, "scrape").scrape = *std::move(scrape);
  }
  Source& agents = Add(SourceKind::kAgents, "agents");
  agents.intake = &intake;
  agents.agents = std::make_unique<AgentLoop>(
      intake, [this](const std::string& host) { return NodeNamed(host); },
      [this](AgentFacts said) { SetAgentFacts(std::move(said)); });
  std::vector<RecordExchange*> records;
  for (const auto& source : sources) {
    for (RecordExchange* const exchange : source->Records()) records.push_back(exchange);
  }
  analysis = std::make_unique<AnalysisLoop>(
      *engine, std::move(records), answers,
      AnalysisLoop::Options{.window = config.analysis_window,
                            .taps = taps,
                            .restart = [this] { Restart(); },
                            .tell = tell,
                            .count_records = [this] { return CountRecords(); }});
  return {};
}

RecordCounts Box::Parts::CountRecords() const {
  RecordCounts all;
  for (const auto& source : sources) {
    const SourceStatistics counted = source->Statistics();
    all.taken += counted.records;
    all.given_up += counted.records_dropped;
  }
  return all;
}

Status Box::Parts::OpenInterfaces(const FrameProcessor::Options& processor) {
  for (size_t i = 0; i < config.interfaces.size(); ++i) {
    const InterfaceConfig& given = config.interfaces[i];
    auto loop = InterfaceLoop::Open({.interface = {.interface = given.name,
                                                   .filter = given.filter,
                                                   .snap = given.snap,
                                                   .promiscuous = given.promiscuous,
                                                   .buffer = given.buffer,
                                                   .tap = static_cast<TapId>(i)},
                                     .processor = processor});
    if (!loop) return tl::unexpected(loop.error());
    Add(SourceKind::kInterface, given.name).interface = *std::move(loop);
  }
  return {};
}

Status Box::Parts::OpenSockets(const FrameProcessor::Options& processor, TapId first_tap) {
  auto loop = UdpLoop::Open({.int_reports = AddressesOf(config.udp.int_reports),
                             .sflow = AddressesOf(config.udp.sflow),
                             .buffer = config.udp.buffer,
                             .processor = processor,
                             .first_tap = first_tap});
  if (!loop) return tl::unexpected(loop.error());
  Add(SourceKind::kUdp, "udp").udp = *std::move(loop);
  return {};
}

void Box::Parts::SetAgentFacts(AgentFacts said) {
  const std::lock_guard lock(facts_mutex);
  facts.SetAgents(std::move(said));
  TellFacts();
}

std::string Box::Parts::NodeNamed(const std::string& host) const {
  if (!fabric) return host;
  for (const topology::Node& node : fabric->nodes()) {
    if (SameHost(node.name, host)) return node.name;
  }
  // The data is used anyway, because its queue pairs may be peers of known hosts.
  tell(
      fmt::format("agent host {} is not in the topology: set `host` in the agent configuration to "
                  "the name in the topology",
                  host));
  return host;
}

void Box::Parts::TellFacts() {
  if (analysis) analysis->SetHostFacts(facts.All());
}

Result<std::unique_ptr<Box>> Box::Open(const ApplianceConfig& config,
                                       std::function<void(const std::string&)> tell) {
  auto parts = std::make_unique<Parts>(config);
  parts->tell = std::move(tell);
  if (const Status loaded = parts->LoadFacts(); !loaded) return tl::unexpected(loaded.error());
  if (const Status opened = parts->OpenSources(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Box>(new Box(std::move(parts)));
}

std::unique_ptr<Box> Box::Holding(Answer answer, std::shared_ptr<const topology::Fabric> fabric,
                                  Duration window) {
  ApplianceConfig config;
  config.analysis_window = window;
  auto parts = std::make_unique<Parts>(config);
  parts->fabric = std::move(fabric);
  parts->answers.Publish(std::move(answer));
  return std::unique_ptr<Box>(new Box(std::move(parts)));
}

Box::Box(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Box::~Box() { Stop(); }

void Box::Start() {
  Parts& parts = *parts_;
  parts.runs = true;
  parts.started_at = WallClock();
  parts.analyst = std::thread([&parts] {
    NameThread("analysis");
    LowerThreadPriority();
    parts.analysis->Run(parts.sources_ended);
  });
  for (const auto& source : parts.sources) {
    if (source->dpdk) {
      source->dpdk->Start();
      continue;
    }
    source->thread = std::thread([&parts, &source = *source] {
      NameThread(source.name.c_str());
      source.Run(parts.stop);
      if (!source.error.empty()) parts.tell(source.error);
    });
  }
}

void Box::Stop() {
  Parts& parts = *parts_;
  if (!std::exchange(parts.runs, false)) return;
  parts.intake.Close();
  parts.stop = true;
  for (const auto& source : parts.sources) {
    source->dpdk ? source->dpdk->Stop() : source->thread.join();
  }
  parts.sources_ended.store(true, std::memory_order_release);
  parts.analyst.join();
  parts.answers.Close();
}

void Box::SetAllocations(std::vector<Allocation> allocations) {
  const std::lock_guard lock(parts_->facts_mutex);
  parts_->facts.SetAllocations(std::move(allocations));
  parts_->TellFacts();
}

Status Box::ReadHostFilesAgain() {
  // Read outside the lock, because calls and agents need it.
  Result<HostFiles> hosts = parts_->ReadHosts();
  if (!hosts) return tl::unexpected(hosts.error());
  const std::lock_guard lock(parts_->facts_mutex);
  parts_->TakeHosts(*std::move(hosts));
  parts_->TellFacts();
  return {};
}

AgentIntake& Box::agents() { return parts_->intake; }
Answers& Box::answers() { return parts_->answers; }
const Answers& Box::answers() const { return parts_->answers; }
const ApplianceConfig& Box::config() const { return parts_->config; }
const std::shared_ptr<const topology::Fabric>& Box::fabric() const { return parts_->fabric; }
Timestamp Box::started_at() const { return parts_->started_at; }

std::vector<Heartbeat> Box::Heartbeats() const {
  std::vector<Heartbeat> beats;
  if (parts_->analysis) beats.push_back({.name = "analysis", .beats = parts_->analysis->beats()});
  for (const auto& source : parts_->sources) {
    if (!source->State().error.empty()) continue;
    for (const uint64_t count : source->Beats()) {
      beats.push_back({.name = source->name, .beats = count});
    }
  }
  return beats;
}

Senders Box::LastSenders() const {
  Senders all;
  for (const auto& source : parts_->sources) {
    Senders of_one = source->LastSenders();
    MergeMirrorStreams(all.mirrors, of_one.mirrors);
    std::ranges::move(of_one.telemetry, std::back_inserter(all.telemetry));
  }
  return all;
}

std::vector<SourceState> Box::Sources() const {
  std::vector<SourceState> states;
  for (const auto& source : parts_->sources) {
    if (source->agents && !source->intake->any()) continue;
    states.push_back(source->State());
  }
  return states;
}

}  // namespace rocescope

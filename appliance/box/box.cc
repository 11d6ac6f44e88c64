// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/box/box.h"

#include <fmt/format.h>

#include <mutex>
#include <thread>
#include <utility>

#include "analytics/engine/engine.h"
#include "appliance/box/analysis_loop.h"
#include "appliance/feed/host_files.h"
#include "appliance/feed/text_file.h"
#include "dataplane/lcore/wall_clock.h"
#include "dataplane/live/interface_loop.h"
#include "dataplane/live/udp_loop.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

// One of the threads that receive.
struct Source {
  std::string name;
  SourceKind kind = SourceKind::kInterface;
  std::unique_ptr<InterfaceLoop> interface;  // one of the two
  std::unique_ptr<UdpLoop> udp;
  std::thread thread;
  mutable std::mutex mutex;  // of `error`
  std::string error;

  FrameWorker& worker() { return interface ? interface->worker() : udp->worker(); }
  const FrameWorker& worker() const { return interface ? interface->worker() : udp->worker(); }

  std::vector<ListenAddress> Listens() const {
    std::vector<ListenAddress> listens;
    for (size_t i = 0; udp && i < udp->receiver().sockets(); ++i) {
      const UdpAddress where = udp->receiver().AddressOf(i);
      listens.push_back({.address = where.address, .port = where.port});
    }
    return listens;
  }

  void Run(const std::atomic<bool>& stop) {
    if (udp) return udp->Run(stop);
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

}  // namespace

std::string_view NameOf(SourceKind kind) {
  return kind == SourceKind::kInterface ? "interface" : "udp";
}

struct Box::Parts {
  ApplianceConfig config;
  std::function<void(const std::string&)> tell;
  Timestamp started_at;
  Engine engine;
  Answers answers;
  std::vector<std::unique_ptr<Source>> sources;
  std::unique_ptr<AnalysisLoop> analysis;
  std::thread analyst;
  std::atomic<bool> stop = false;
  std::atomic<bool> sources_ended = false;
  bool runs = false;

  explicit Parts(const ApplianceConfig& given)
      : config(given), engine({.window = given.analysis_window}) {}

  Status LoadFacts();
  Status OpenSources();
};

Status Box::Parts::LoadFacts() {
  if (!config.topology.empty()) {
    const auto fabric = LoadTopology(config.topology);
    if (!fabric) return tl::unexpected(fabric.error());
    engine.SetFabric(*fabric);
  }
  Result<HostFiles> hosts = ReadHostFiles({.nccl_logs = config.host_files.nccl_logs,
                                           .rdma = config.host_files.rdma,
                                           .slurm = config.host_files.slurm});
  if (!hosts) return tl::unexpected(hosts.error());
  engine.SetHostFacts(std::move(hosts->facts));
  for (const std::string& note : hosts->notes) tell(note);
  return {};
}

// Taps are numbered in the order of the configuration: interfaces, then sockets.
Status Box::Parts::OpenSources() {
  std::vector<std::string> names;
  for (const InterfaceConfig& interface : config.interfaces) {
    names.push_back(interface.tap.empty() ? interface.name : interface.tap);
  }
  const auto first_socket = static_cast<uint16_t>(names.size());
  for (const auto* addresses : {&config.udp.int_reports, &config.udp.sflow}) {
    for (const ListenAddress& address : *addresses) names.push_back("udp " + ToString(address));
  }
  if (names.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the configuration names nothing to receive from: give interfaces, or udp "
                     "(`rocescope config dump` shows how)");
  }
  const auto taps = std::make_shared<TapRegistry>(names);
  FrameProcessor::Options processor;
  processor.taps = taps;
  processor.flow_table.interval = config.record_interval;
  if (config.interfaces.size() > 1) {  // what the box may sight is theirs together
    SightingBudget::Options& sightings = processor.flow_table.sightings;
    sightings.rate = std::make_shared<SightingRate>(SightingRate::Options{});
    const auto count = static_cast<uint32_t>(config.interfaces.size());
    sightings.always_per_interval = (sightings.always_per_interval + count - 1) / count;
  }
  for (size_t i = 0; i < config.interfaces.size(); ++i) {
    const InterfaceConfig& given = config.interfaces[i];
    auto loop = InterfaceLoop::Open({.interface = {.interface = given.name,
                                                   .filter = given.filter,
                                                   .snap = given.snap,
                                                   .promiscuous = given.promiscuous,
                                                   .buffer = given.buffer,
                                                   .tap = static_cast<uint16_t>(i)},
                                     .processor = processor});
    if (!loop) return tl::unexpected(loop.error());
    Source& source = *sources.emplace_back(std::make_unique<Source>());
    source.name = given.name;
    source.interface = *std::move(loop);
  }
  if (names.size() > first_socket) {
    auto loop = UdpLoop::Open({.int_reports = AddressesOf(config.udp.int_reports),
                               .sflow = AddressesOf(config.udp.sflow),
                               .buffer = config.udp.buffer,
                               .processor = processor,
                               .first_tap = first_socket});
    if (!loop) return tl::unexpected(loop.error());
    Source& source = *sources.emplace_back(std::make_unique<Source>());
    source.name = "udp";
    source.kind = SourceKind::kUdp;
    source.udp = *std::move(loop);
  }
  std::vector<RecordExchange*> records;
  for (const auto& source : sources) records.push_back(&source->worker().records());
  analysis = std::make_unique<AnalysisLoop>(
      engine, std::move(records), answers,
      AnalysisLoop::Options{.window = config.analysis_window, .taps = taps});
  return {};
}

Result<std::unique_ptr<Box>> Box::Open(const ApplianceConfig& config,
                                       std::function<void(const std::string&)> tell) {
  auto parts = std::make_unique<Parts>(config);
  parts->tell = std::move(tell);
  if (const Status loaded = parts->LoadFacts(); !loaded) return tl::unexpected(loaded.error());
  if (const Status opened = parts->OpenSources(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<Box>(new Box(std::move(parts)));
}

Box::Box(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Box::~Box() { Stop(); }

void Box::Start() {
  Parts& parts = *parts_;
  parts.runs = true;
  parts.started_at = WallClock();
  parts.analyst = std::thread([&parts] { parts.analysis->Run(parts.sources_ended); });
  for (const auto& source : parts.sources) {
    source->thread = std::thread([&parts, &source = *source] {
      source.Run(parts.stop);
      if (!source.error.empty()) parts.tell(source.error);
    });
  }
}

void Box::Stop() {
  Parts& parts = *parts_;
  if (!std::exchange(parts.runs, false)) return;
  parts.stop = true;
  for (const auto& source : parts.sources) source->thread.join();
  parts.sources_ended.store(true, std::memory_order_release);
  parts.analyst.join();
  parts.answers.Close();
}

Answers& Box::answers() { return parts_->answers; }
const Answers& Box::answers() const { return parts_->answers; }
const ApplianceConfig& Box::config() const { return parts_->config; }
Timestamp Box::started_at() const { return parts_->started_at; }

std::vector<SourceState> Box::Sources() const {
  std::vector<SourceState> states;
  for (const auto& source : parts_->sources) {
    const std::lock_guard lock(source->mutex);
    states.push_back({.name = source->name,
                      .kind = source->kind,
                      .listens = source->Listens(),
                      .statistics = source->worker().Statistics(),
                      .error = source->error});
  }
  return states;
}

}  // namespace rocescope

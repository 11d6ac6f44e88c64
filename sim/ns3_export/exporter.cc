// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/exporter.h"

#include <fmt/format.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/simulator.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/emit/former_run.h"
#include "sim/emit/output_file.h"
#include "sim/ns3_export/nodes.h"
#include "sim/ns3_export/port_monitor.h"
#include "sim/ns3_export/recorder.h"
#include "sim/ns3_export/truth.h"
#include "topology/yaml.h"

namespace rocescope::ns3_export {
namespace {

using ns3::Ipv4L3Protocol;
using ns3::Ptr;
using ns3::Simulator;

template <typename T>
T OrThrow(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

Duration DurationOf(ns3::Time time) { return Duration(time.GetNanoSeconds()); }

topology::Tier TierOf(Tier tier) {
  switch (tier) {
    case Tier::kLeaf:
      return topology::Tier::kLeaf;
    case Tier::kSpine:
      return topology::Tier::kSpine;
    case Tier::kCore:
      return topology::Tier::kCore;
  }
  return topology::Tier::kLeaf;
}

}  // namespace

class Exporter::Run final : public PortListener {
 public:
  explicit Run(Options options) : options_(std::move(options)) {
    if (options_.directory.empty())
      throw std::runtime_error("Options::directory is empty; set the run directory to write");
    if (!options_.poll_period.IsStrictlyPositive()) {
      throw std::runtime_error("Options::poll_period must be positive");
    }
  }
  ~Run() override { Detach(); }

  void Add(Ptr<ns3::Node> node, const std::string& name, topology::Tier tier) {
    if (!ports_.empty())
      throw std::runtime_error(fmt::format("{}: add all nodes before Attach", name));
    nodes_.push_back({.node = std::move(node), .name = name, .tier = tier});
  }
  void AddConnection(Connection connection) { connections_.push_back(std::move(connection)); }

  void Attach();
  Counts Finish();

  void Sends(PortMonitor& port, const ns3::Packet& packet) override {
    recorder_->Sends(port, packet);
    truth_->Sends(port, packet);
  }
  void Receives(PortMonitor& port, const ns3::Packet& packet) override {
    last_received_[fabric_->port(port.index()).node] = {.port = &port, .uid = packet.GetUid()};
    recorder_->Receives(port, packet);
    truth_->Receives(port, packet);
  }
  void Loses(PortMonitor& port, uint64_t uid, Loss cause) override {
    truth_->Loses(port, uid, cause);
  }

 private:
  struct Received {
    PortMonitor* port = nullptr;
    uint64_t uid = 0;
  };

  void Prepare();
  void Detach();
  void TraceIpDrops(bool connect);
  void IpDrop(const ns3::Ipv4Header& header, Ptr<const ns3::Packet> packet,
              Ipv4L3Protocol::DropReason reason, Ptr<ns3::Ipv4> ipv4, uint32_t interface);
  void Poll();
  void PollAgain() {
    Poll();
    poll_event_ = Simulator::Schedule(options_.poll_period, &Run::PollAgain, this);
  }
  void ReadCountersAgain() {
    Poll();
    recorder_->ReadCounters(ports_, up_);
    counter_event_ = Simulator::Schedule(options_.counter_period, &Run::ReadCountersAgain, this);
  }

  const Options options_;
  std::vector<AddedNode> nodes_;  // by NodeIndex
  std::vector<Connection> connections_;
  std::optional<topology::Fabric> fabric_;
  std::map<const ns3::Node*, topology::NodeIndex> node_of_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Truth> truth_;
  std::vector<std::unique_ptr<PortMonitor>> ports_;  // by PortIndex
  LinkStates up_;
  std::vector<Received> last_received_;  // by NodeIndex
  ns3::EventId poll_event_;
  ns3::EventId counter_event_;
};

void Exporter::Run::Prepare() {
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) {
    throw std::runtime_error(
        fmt::format("{}: cannot be created: {}", options_.directory, error.message()));
  }
  OrThrow(sim::BeginRun(options_.directory));
  OrThrow(sim::WriteFile(options_.directory + "/topology.yaml", topology::WriteFabric(*fabric_)));
}

void Exporter::Run::Attach() {
  if (fabric_) throw std::runtime_error("Attach was called twice; call it once");
  Fabric fabric = OrThrow(FabricOf(nodes_, options_));
  fabric_ = std::move(fabric.fabric);
  Prepare();
  recorder_ = OrThrow(Recorder::Make(*fabric_, options_));
  truth_ = std::make_unique<Truth>(*fabric_, options_);
  for (topology::PortIndex port = 0; port < fabric.devices.size(); ++port) {
    ports_.push_back(
        std::make_unique<PortMonitor>(port, fabric.devices[port], fabric.link_layers[port], *this));
  }
  for (topology::NodeIndex node = 0; node < nodes_.size(); ++node) {
    node_of_[ns3::PeekPointer(nodes_[node].node)] = node;
  }
  last_received_.resize(nodes_.size());
  up_.assign(ports_.size(), true);
  TraceIpDrops(true);
  poll_event_ = Simulator::Schedule(ns3::Time(0), &Run::PollAgain, this);
  if (options_.counter_period.IsStrictlyPositive()) {
    counter_event_ = Simulator::Schedule(ns3::Time(0), &Run::ReadCountersAgain, this);
  }
}

void Exporter::Run::TraceIpDrops(bool connect) {
  const auto callback = ns3::MakeCallback(&Run::IpDrop, this);
  for (const AddedNode& added : nodes_) {
    const auto ip = added.node->GetObject<Ipv4L3Protocol>();
    if (!ip) continue;
    connect ? ip->TraceConnectWithoutContext("Drop", callback)
            : ip->TraceDisconnectWithoutContext("Drop", callback);
  }
}

void Exporter::Run::IpDrop(const ns3::Ipv4Header&, Ptr<const ns3::Packet> packet,
                           Ipv4L3Protocol::DropReason reason, Ptr<ns3::Ipv4> ipv4,
                           uint32_t interface) {
  const topology::NodeIndex node = node_of_.at(ns3::PeekPointer(ipv4->GetObject<ns3::Node>()));
  const Received& received = last_received_[node];
  PortMonitor* const ingress =
      received.port != nullptr && received.uid == packet->GetUid() ? received.port : nullptr;
  PortMonitor* port = ingress;
  Loss cause = Loss::kOther;
  switch (reason) {
    case Ipv4L3Protocol::DROP_TTL_EXPIRED:
      cause = Loss::kTtl;
      if (port != nullptr) ++port->counters().ttl_drops;
      break;
    case Ipv4L3Protocol::DROP_NO_ROUTE:
    case Ipv4L3Protocol::DROP_ROUTE_ERROR:
      cause = Loss::kRoute;
      if (port != nullptr) ++port->counters().no_route_drops;
      break;
    case Ipv4L3Protocol::DROP_INTERFACE_DOWN:
      cause = Loss::kInterfaceDown;
      if (ingress != nullptr && ingress->Interface() == static_cast<int32_t>(interface)) {
        ++port->counters().rx_discards;
        break;
      }
      port = nullptr;
      for (const auto& each : ports_) {
        if (each->device() == ipv4->GetNetDevice(interface)) port = each.get();
      }
      if (port != nullptr) ++port->counters().tx_discards;
      break;
    default:
      if (port != nullptr) ++port->counters().rx_discards;
  }
  if (port != nullptr) truth_->Loses(*port, packet->GetUid(), cause);
}

// A link is up while the interfaces at both ends are.
void Exporter::Run::Poll() {
  const int64_t now = Simulator::Now().GetNanoSeconds();
  for (topology::LinkIndex index = 0; index < fabric_->links().size(); ++index) {
    const auto& ends = fabric_->link(index).ends;
    const bool up = ports_[ends[0]]->IsInterfaceUp() && ports_[ends[1]]->IsInterfaceUp();
    if (up == up_[ends[0]]) continue;
    truth_->LinkChanged(index, up, now);
    for (const topology::PortIndex port : ends) {
      up_[port] = up;
      if (!up) ++ports_[port]->counters().link_flaps;
    }
  }
  for (const auto& port : ports_) {
    if (fabric_->node(fabric_->port(port->index()).node).IsSwitch()) truth_->Queue(*port, now);
  }
}

void Exporter::Run::Detach() {
  if (ports_.empty()) return;
  Simulator::Cancel(poll_event_);
  Simulator::Cancel(counter_event_);
  TraceIpDrops(false);
  ports_.clear();
}

Counts Exporter::Run::Finish() {
  if (ports_.empty()) throw std::runtime_error("Finish must be called once, after Attach");
  Poll();
  if (options_.counter_period.IsStrictlyPositive()) recorder_->ReadCounters(ports_, up_);
  const ns3::Time end = Simulator::Now();
  Detach();
  OrThrow(recorder_->Finish());
  const std::string truth = OrThrow(truth_->Render(connections_, end.GetNanoSeconds()));
  OrThrow(sim::WriteFile(options_.directory + "/truth.json", truth));
  OrThrow(
      sim::FinishRun(options_.directory,
                     {.scenario = options_.scenario,
                      .seed = options_.seed,
                      .epoch = FromNanoseconds(options_.epoch_ns),
                      .duration = DurationOf(end),
                      .record_interval = DurationOf(options_.record_interval),
                      .analysis_window = DurationOf(options_.analysis_window),
                      .counter_period = DurationOf(options_.counter_period),
                      .time_scale = options_.time_scale,
                      .telemetry = {.mirror = !fabric_->taps().empty(),
                                    .sflow = options_.sflow_rate > 0,
                                    .counters = options_.counter_period.IsStrictlyPositive()}}));
  Counts counts = recorder_->counts();
  counts.link_events = truth_->link_events();
  return counts;
}

Exporter::Exporter(Options options) : run_(std::make_unique<Run>(std::move(options))) {}
Exporter::~Exporter() = default;

void Exporter::AddSwitch(Ptr<ns3::Node> node, const std::string& name, Tier tier) {
  run_->Add(std::move(node), name, TierOf(tier));
}
void Exporter::AddHost(Ptr<ns3::Node> node, const std::string& name) {
  run_->Add(std::move(node), name, topology::Tier::kHost);
}
void Exporter::AddConnection(const QueuePair& first, const QueuePair& second,
                             const std::string& job) {
  run_->AddConnection({.first = first, .second = second, .job = job});
}
void Exporter::Attach() { run_->Attach(); }
Counts Exporter::Finish() { return run_->Finish(); }

}  // namespace rocescope::ns3_export

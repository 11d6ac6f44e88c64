// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/write_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/emit/clocks.h"
#include "sim/emit/packet.h"
#include "sim/emit/wall_clock.h"
#include "sim/run/benign_events.h"
#include "sim/run/host_logs.h"
#include "sim/run/outcome.h"
#include "sim/run/simulation.h"
#include "sim/truth/render_truth.h"

namespace rocescope::sim {
namespace {

class Writer {
 public:
  // `connections`: as in write_truth.h.
  Writer(Simulation& simulation, const Outcome& outcome, std::string* connections)
      : simulation_(simulation),
        outcome_(outcome),
        fabric_(simulation.fabric()),
        connections_(connections) {}

  v1::Truth Write();

 private:
  int64_t Wall(SimTime time) const {
    const Scenario& scenario = simulation_.scenario();
    return ToNanoseconds(WallClock{scenario.epoch, scenario.dilation}.At(time));
  }
  std::string NicName(topology::NicIndex index) const {
    const topology::Nic& nic = fabric_.nic(index);
    return fmt::format("{}:{}", fabric_.node(nic.host).name, nic.device);
  }
  void WriteJob(size_t number, v1::TruthJob& out);
  void WriteBenign(v1::Truth& truth) const;
  void WriteEnd(const QueuePair& end, v1::TruthEnd& out) const;
  void WritePaths(const QueuePair& sender, google::protobuf::RepeatedPtrField<v1::TruthPath>& out);
  v1::TruthConnection ConnectionOf(const QueuePair& first);
  void AddConnection(v1::TruthConnection connection, v1::Truth& truth);
  void WriteConnections(v1::Truth& truth);
  void WriteFault(const Injector::Happened& happened, v1::Truth& truth);
  void WriteFrames(v1::TruthFrames& out);
  void WriteCulprits(const Injector::Happened& happened, v1::TruthFault& out);
  bool Passes(const Recorder::Path& path, const Injector::Happened& happened,
              const QueuePair& sender) const;

  Simulation& simulation_;
  const Outcome& outcome_;
  const topology::Fabric& fabric_;
  std::string* const connections_;
  std::map<uint32_t, uint32_t> connection_of_;  // keyed by queue pair
};

void Writer::WriteJob(size_t number, v1::TruthJob& out) {
  const std::vector<size_t> starts = simulation_.StartsOf(number);
  const Job& job = *simulation_.jobs()[starts[0]];
  const JobOptions& options = job.options();
  out.set_name(options.name);
  out.set_id(options.id);
  for (uint32_t rank = 0; rank < options.gpus.size(); ++rank) {
    const topology::Gpu& gpu = fabric_.gpu(options.gpus[rank]);
    v1::TruthRank& one = *out.add_ranks();
    one.set_host(fabric_.node(gpu.host).name);
    one.set_gpu(gpu.number);
    one.set_device(fabric_.nic(job.NicOf(rank)).device);
    one.set_process_id(ProcessOf(job, gpu.number));
  }
  for (const JobOptions::Phase& phase : job.phases()) {
    v1::TruthPhase& one = *out.add_phases();
    one.set_name(phase.name);
    if (!phase.has_collective) continue;
    one.set_collective(std::string(NameOf(phase.collective.kind)));
    for (const auto& group : phase.groups) {
      v1::TruthGroup& ranks = *one.add_groups();
      for (const uint32_t rank : group) ranks.add_ranks(rank);
    }
    if (!phase.groups.empty()) continue;
    v1::TruthGroup& all = *one.add_groups();
    for (uint32_t rank = 0; rank < options.gpus.size(); ++rank) all.add_ranks(rank);
  }
  for (const size_t index : starts) {
    const Job* const start = simulation_.jobs()[index].get();
    for (const Job::Iteration& iteration : outcome_.starts[index].iterations) {
      v1::TruthIteration& one = *out.add_iterations();
      one.set_start_ns(Wall(iteration.begin));
      one.set_end_ns(iteration.end == kNever ? 0 : Wall(iteration.end));
    }
    if (index == starts[0] || start->options().start >= simulation_.scenario().duration) continue;
    v1::TruthRestart& restart = *out.add_restarts();
    restart.set_stop_ns(Wall(options.restarts[start->options().incarnation - 1].at));
    restart.set_start_ns(Wall(start->options().start));
    for (const topology::GpuIndex gpu : options.gpus) {
      restart.add_process_ids(ProcessOf(*start, fabric_.gpu(gpu).number));
    }
  }
}

void Writer::WriteBenign(v1::Truth& truth) const {
  for (const BenignEvent& event : BenignEventsOf(simulation_, outcome_)) {
    v1::TruthBenign& out = *truth.add_benign();
    out.set_kind(std::string(NameOf(event.kind)));
    out.set_place(event.place);
    out.set_direction(event.direction);
    out.set_start_ns(Wall(event.start));
    out.set_end_ns(Wall(event.end));
    out.set_frames(event.count);
  }
}

void Writer::WriteEnd(const QueuePair& end, v1::TruthEnd& out) const {
  const topology::Nic& nic = fabric_.nic(end.nic().number());
  out.set_host(fabric_.node(nic.host).name);
  out.set_device(nic.device);
  out.set_address(ToString(AddressOf(fabric_, end.nic().number())));
  out.set_qpn(end.identity().qpn.value);
  out.set_udp_source_port(end.identity().udp_source_port);
}

void Writer::WritePaths(const QueuePair& sender,
                        google::protobuf::RepeatedPtrField<v1::TruthPath>& out) {
  for (const Recorder::Path& path : outcome_.paths[sender.identity().number]) {
    v1::TruthPath& one = *out.Add();
    one.set_start_ns(Wall(path.start));
    one.set_end_ns(Wall(path.end));
    for (const topology::PortIndex port : path.ports) one.add_ports(fabric_.NameOf(port));
    one.set_bytes(path.bytes);
  }
}

v1::TruthConnection Writer::ConnectionOf(const QueuePair& first) {
  const auto number = static_cast<uint32_t>(connection_of_.size() / 2);
  connection_of_[first.identity().number] = number;
  connection_of_[first.peer().identity().number] = number;
  v1::TruthConnection out;
  WriteEnd(first, *out.mutable_first());
  WriteEnd(first.peer(), *out.mutable_second());
  WritePaths(first, *out.mutable_forward());
  WritePaths(first.peer(), *out.mutable_backward());
  return out;
}

void Writer::AddConnection(v1::TruthConnection connection, v1::Truth& truth) {
  if (connections_ == nullptr) {
    *truth.add_connections() = std::move(connection);
    return;
  }
  if (!connections_->empty()) *connections_ += ",\n";
  std::string json = RenderJson(connection);
  while (json.ends_with('\n')) json.pop_back();
  // A connection is two levels deep in the file.
  *connections_ += "  ";
  for (const char each : json) {
    connections_->push_back(each);
    if (each == '\n') *connections_ += "  ";
  }
}

void Writer::WriteConnections(v1::Truth& truth) {
  for (const auto& job : simulation_.jobs()) {
    for (const Job::Channel& channel : job->channels()) {
      for (uint32_t stripe = 0; stripe < channel.senders.size(); ++stripe) {
        v1::TruthConnection out = ConnectionOf(*channel.senders[stripe]);
        out.set_job(job->options().name);
        out.set_phase(channel.phase);
        out.set_group(channel.group);
        out.set_from_rank(channel.from);
        out.set_to_rank(channel.to);
        out.set_stripe(stripe);
        out.set_incarnation(job->options().incarnation);
        AddConnection(std::move(out), truth);
      }
    }
  }
  // The remaining connections are background: streams, and traffic that faults create.
  Network& network = simulation_.network();
  for (uint32_t i = 0; i < network.queue_pair_count(); ++i) {
    if (network.queue_pair(i).identity().foreign || connection_of_.contains(i)) continue;
    AddConnection(ConnectionOf(network.queue_pair(i)), truth);
  }
}

bool Writer::Passes(const Recorder::Path& path, const Injector::Happened& happened,
                    const QueuePair& sender) const {
  const FaultOptions& fault = happened.options;
  const auto at_nic = [&](topology::NicIndex nic) {
    return sender.nic().number() == nic || sender.peer().nic().number() == nic;
  };
  switch (InfoOf(fault.kind).place) {
    case PlaceKind::kNic:
      return at_nic(fault.nic);
    case PlaceKind::kGpu:
      return false;
    case PlaceKind::kSwitch:
      if (fault.kind == FaultKind::kBlackhole && sender.peer().nic().number() != fault.nic) {
        return false;
      }
      return std::any_of(path.ports.begin(), path.ports.end(), [&](topology::PortIndex port) {
        return fabric_.port(port).node == fault.node;
      });
    case PlaceKind::kLink:
      break;
  }
  const topology::PortIndex first = fabric_.nic(sender.nic().number()).port;
  const topology::Fabric& real = simulation_.real_fabric();
  const auto over = [&](topology::PortIndex port) {
    const topology::LinkIndex link = real.port(port).link;
    if (std::find(happened.ports.begin(), happened.ports.end(), port) != happened.ports.end()) {
      return true;
    }
    if (fault.kind == FaultKind::kSwappedCables) {
      return link == real.port(fault.swapped[0]).link || link == real.port(fault.swapped[1]).link;
    }
    return link == fault.link && (fault.sender == topology::kNone || fault.sender == port);
  };
  return over(first) || std::any_of(path.ports.begin(), path.ports.end(), over);
}

void Writer::WriteFault(const Injector::Happened& happened, v1::Truth& truth) {
  const FaultOptions& options = happened.options;
  const SimTime end = options.duration > simulation_.scenario().duration - options.onset
                          ? simulation_.scenario().duration
                          : options.onset + options.duration;
  v1::TruthFault& out = *truth.add_faults();
  out.set_kind(std::string(InfoOf(options.kind).name));
  switch (InfoOf(options.kind).place) {
    case PlaceKind::kLink:
      out.set_place(fabric_.NameOfLink(options.link));
      if (options.sender != topology::kNone) out.set_direction(fabric_.NameOf(options.sender));
      break;
    case PlaceKind::kSwitch:
      out.set_place(fabric_.node(options.node).name);
      break;
    case PlaceKind::kNic:
      out.set_place(NicName(options.nic));
      break;
    case PlaceKind::kGpu: {
      const topology::Gpu& gpu = fabric_.gpu(options.gpu);
      out.set_place(fmt::format("{}:gpu:{}", fabric_.node(gpu.host).name, gpu.number));
      break;
    }
  }
  out.set_start_ns(Wall(options.onset));
  out.set_end_ns(Wall(end));
  out.set_visible_ns(happened.visible == kNever ? 0 : Wall(happened.visible));
  out.set_affected_frames(happened.affected);
  for (const topology::PortIndex port : happened.ports) out.add_loop_ports(fabric_.NameOf(port));
  if (options.kind == FaultKind::kSwappedCables) {
    for (const topology::PortIndex port : options.swapped) {
      const topology::LinkIndex link = fabric_.port(port).link;
      out.add_declared_links(fabric_.NameOfLink(link));
      out.add_real_links(simulation_.real_fabric().NameOfLink(link));
    }
  }
  out.set_growth(options.growth);
  out.set_affected_jobs_unknown(true);
  WriteCulprits(happened, out);
  std::set<std::string_view> exposed;
  for (const auto& job : simulation_.jobs()) {
    bool is_exposed = options.kind == FaultKind::kStraggler &&
                      std::find(job->options().gpus.begin(), job->options().gpus.end(),
                                options.gpu) != job->options().gpus.end();
    for (const Job::Channel& channel : job->channels()) {
      for (const QueuePair* first : channel.senders) {
        for (const QueuePair* sender : {first, &first->peer()}) {
          for (const Recorder::Path& path : outcome_.paths[sender->identity().number]) {
            is_exposed |=
                path.start < end && path.end > options.onset && Passes(path, happened, *sender);
          }
        }
      }
    }
    if (is_exposed && exposed.insert(job->options().name).second) {
      out.add_exposed_jobs(job->options().name);
    }
  }
}

// Culprits are the connections that the fault created. For a deadlock, they are the connections
// whose data went down and up again within the loop; others only queue behind them.
void Writer::WriteCulprits(const Injector::Happened& happened, v1::TruthFault& out) {
  std::set<uint32_t> culprits;
  for (const uint32_t culprit : happened.culprits) culprits.insert(connection_of_.at(culprit));
  const auto queue_pairs = static_cast<uint32_t>(simulation_.network().queue_pair_count());
  for (uint32_t number = 0; !happened.ports.empty() && number < queue_pairs; ++number) {
    if (simulation_.network().HasBounced(number) && connection_of_.contains(number))
      culprits.insert(connection_of_.at(number));
  }
  for (const uint32_t culprit : culprits) out.add_culprits(culprit);
}

void Writer::WriteFrames(v1::TruthFrames& out) {
  out.set_sent(outcome_.frames.sent);
  out.set_delivered(outcome_.frames.delivered);
  out.set_in_flight(outcome_.frames.in_flight);
  for (const auto& [cause, frames] : outcome_.frames.lost) {
    v1::TruthLoss& loss = *out.add_lost();
    loss.set_cause(cause);
    loss.set_frames(frames);
  }
}

v1::Truth Writer::Write() {
  v1::Truth truth;
  truth.set_schema_version(kTruthSchemaVersion);
  truth.set_scenario(simulation_.scenario().name);
  truth.set_seed(simulation_.scenario().seed);
  truth.set_start_ns(Wall(0));
  truth.set_end_ns(Wall(simulation_.scenario().duration));
  for (size_t job = 0; job < simulation_.scenario().jobs.size(); ++job) {
    WriteJob(job, *truth.add_jobs());
  }
  WriteConnections(truth);
  for (const Injector::Happened& happened : outcome_.faults) {
    WriteFault(happened, truth);
  }
  for (const Recorder::Queue& queue : outcome_.queues) {
    v1::TruthQueue& out = *truth.add_congested();
    out.set_port(fabric_.NameOf(queue.port));
    out.set_priority(queue.priority);
    out.set_start_ns(Wall(queue.start));
    out.set_end_ns(Wall(queue.end));
    out.set_peak_bytes(queue.peak);
  }
  WriteFrames(*truth.mutable_frames());
  std::set<topology::Tier> tiers;
  for (const topology::Node& node : fabric_.nodes()) {
    if (node.IsSwitch()) tiers.insert(node.tier);
  }
  const std::vector<Duration> clock_errors = ClockErrors(
      fabric_, simulation_.scenario().telemetry.clock_error, simulation_.scenario().seed);
  for (topology::NodeIndex node = 0; node < clock_errors.size(); ++node) {
    if (!fabric_.node(node).IsSwitch()) continue;
    v1::TruthClock& clock = *truth.add_clocks();
    clock.set_node(fabric_.node(node).name);
    clock.set_offset_ns(clock_errors[node].count());
  }
  truth.set_switch_tiers(static_cast<uint32_t>(tiers.size()));
  const TelemetryOptions& telemetry = simulation_.scenario().telemetry;
  truth.set_sflow_rate(telemetry.sflow_rate);
  truth.set_sflow_in_spans(telemetry.sflow_rate > 0 && telemetry.sflow_spans.has_value());
  WriteBenign(truth);
  return truth;
}

}  // namespace

v1::Truth TruthOf(Simulation& simulation, const Outcome& outcome, std::string* connections) {
  return Writer(simulation, outcome, connections).Write();
}

v1::Truth TruthOf(Simulation& simulation) { return TruthOf(simulation, OutcomeOf(simulation)); }

std::string RenderTruth(const v1::Truth& truth, std::string_view connections) {
  std::string json = RenderJson(truth);
  if (connections.empty()) return json;
  constexpr std::string_view kEmpty = "\n \"connections\": [],\n";
  const size_t at = json.find(kEmpty);
  if (at != std::string::npos) {
    json.replace(at, kEmpty.size(), fmt::format("\n \"connections\": [\n{}\n ],\n", connections));
  }
  return json;
}

}  // namespace rocescope::sim

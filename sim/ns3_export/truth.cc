// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/truth.h"

#include <fmt/format.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dataplane/wire/opcode.h"
#include "rocescope/v1/truth.pb.h"
#include "sim/truth/render_truth.h"

namespace rocescope::ns3_export {
namespace {

// Indexed by Loss; sim/run/outcome.cc uses the same names.
constexpr std::array<std::string_view, 6> kCauses = {"buffer_full", "wire",     "link_down",
                                                     "ttl",         "no_route", "other"};

int64_t NowNs() { return ns3::Simulator::Now().GetNanoSeconds(); }

bool HasData(uint8_t opcode) {
  const wire::Operation operation = wire::InfoOf(opcode).operation;
  return operation != wire::Operation::kAcknowledge &&
         operation != wire::Operation::kAtomicAcknowledge && operation != wire::Operation::kCnp;
}

}  // namespace

void Truth::Sends(PortMonitor& port, const ns3::Packet& packet) {
  if (!IsHost(port)) {
    const auto at = transits_.find(packet.GetUid());
    if (at != transits_.end()) at->second.ports.push_back(port.index());
    return;
  }
  const auto headers = RoceHeadersOf(packet, port.link());
  if (!headers) return;
  ++sent_;
  if (headers->bth.opcode == wire::kOpcodeCnp) ++port.counters().cnp_sent;
  transits_[packet.GetUid()] = {
      .flow = {headers->source, headers->destination, headers->bth.destination_qpn},
      .start = NowNs(),
      .bytes = HasData(headers->bth.opcode) ? FrameLength(packet, port.link()) : 0,
      .ports = {}};
}

void Truth::Receives(PortMonitor& port, const ns3::Packet& packet) {
  if (!IsHost(port)) return;
  const auto at = transits_.find(packet.GetUid());
  if (at == transits_.end()) return;
  const auto headers = RoceHeadersOf(packet, port.link());
  if (headers) {
    PortCounters& counters = port.counters();
    if (headers->ecn == 3) ++counters.ecn_marked_roce;
    if (headers->bth.opcode == wire::kOpcodeCnp) ++counters.cnp_handled;
    const bool is_nak = headers->bth.opcode == wire::kOpcodeAcknowledge &&
                        wire::KindOf(headers->aeth) == wire::AethKind::kNak &&
                        wire::ValueOf(headers->aeth) == wire::kNakPsnSequenceError;
    if (is_nak) ++counters.sequence_naks;
  }
  ++delivered_;
  Transit transit = std::move(at->second);
  transits_.erase(at);
  AddPath(std::move(transit), NowNs());
}

// A path that has been unused for longer than an analysis window starts again.
void Truth::AddPath(Transit transit, int64_t now) {
  std::vector<Path>& paths = paths_[transit.flow];
  const int64_t window = options_.analysis_window.GetNanoSeconds();
  const auto known = std::find_if(paths.begin(), paths.end(), [&](const Path& path) {
    return path.ports == transit.ports && path.end + window >= transit.start;
  });
  if (known == paths.end()) {
    paths.push_back({.start = transit.start,
                     .end = now,
                     .ports = std::move(transit.ports),
                     .bytes = transit.bytes});
    return;
  }
  known->end = std::max(known->end, now);
  known->bytes += transit.bytes;
}

void Truth::Loses(PortMonitor& port, uint64_t uid, Loss cause) {
  const auto at = transits_.find(uid);
  if (at == transits_.end()) return;
  transits_.erase(at);
  ++lost_[static_cast<size_t>(cause)];
  const topology::LinkIndex link = fabric_.port(port.index()).link;
  for (Outage& outage : outages_) {
    if (outage.link == link && outage.end < 0) ++outage.frames;
  }
}

void Truth::LinkChanged(topology::LinkIndex link, bool up, int64_t now) {
  if (!up) {
    outages_.push_back({.link = link, .start = now});
    return;
  }
  for (Outage& outage : outages_) {
    if (outage.link == link && outage.end < 0) outage.end = now;
  }
}

void Truth::Queue(const PortMonitor& port, int64_t now) {
  if (port.CongestedFrom() == 0) {
    has_unknown_queues_ = true;
    return;
  }
  const uint64_t bytes = port.QueuedBytes();
  const auto open = open_queues_.find(port.index());
  if (open == open_queues_.end()) {
    if (bytes < port.CongestedFrom()) return;
    open_queues_[port.index()] = queues_.size();
    queues_.push_back({.port = port.index(), .start = now, .peak = bytes});
    return;
  }
  CongestedQueue& queue = queues_[open->second];
  queue.peak = std::max(queue.peak, bytes);
  if (bytes >= port.CongestedFrom()) return;
  queue.end = now;
  open_queues_.erase(open);
}

class Truth::Writer {
 public:
  Writer(const Truth& truth, int64_t end) : truth_(truth), end_(end) {}

  Status Write(const std::vector<Connection>& connections, v1::Truth& out) {
    const Options& options = truth_.options_;
    out.set_schema_version(sim::kTruthSchemaVersion);
    out.set_scenario(options.scenario);
    out.set_seed(options.seed);
    out.set_start_ns(Wall(0));
    out.set_end_ns(Wall(end_));
    for (const Connection& connection : connections) {
      if (Status added = AddConnection(connection, out); !added) return added;
    }
    for (const Outage& outage : truth_.outages_) {
      v1::TruthFault& fault = *out.add_faults();
      fault.set_kind("link_down");
      fault.set_place(truth_.fabric_.NameOfLink(outage.link));
      fault.set_start_ns(Wall(outage.start));
      fault.set_visible_ns(fault.start_ns());
      fault.set_end_ns(Wall(outage.end < 0 ? end_ : outage.end));
      fault.set_affected_frames(outage.frames);
      fault.set_affected_jobs_unknown(true);
      fault.set_growth(1);
    }
    for (const CongestedQueue& queue : truth_.queues_) {
      v1::TruthQueue& one = *out.add_congested();
      one.set_port(truth_.fabric_.NameOf(queue.port));
      one.set_priority(options.priority);
      one.set_start_ns(Wall(queue.start));
      one.set_end_ns(Wall(queue.end < 0 ? end_ : queue.end));
      one.set_peak_bytes(queue.peak);
    }
    out.set_congested_unknown(truth_.has_unknown_queues_);
    WriteFrames(*out.mutable_frames());
    std::set<topology::Tier> tiers;
    for (const topology::Node& node : truth_.fabric_.nodes()) {
      if (!node.IsSwitch()) continue;
      tiers.insert(node.tier);
      out.add_clocks()->set_node(node.name);
    }
    out.set_switch_tiers(static_cast<uint32_t>(tiers.size()));
    out.set_sflow_rate(options.sflow_rate);
    return {};
  }

 private:
  struct End {
    IpAddress address;
    topology::NicIndex nic = 0;
  };

  int64_t Wall(int64_t ns) const { return truth_.options_.epoch_ns + ns; }

  Result<End> EndOf(const QueuePair& queue_pair) const {
    End end{.address = IpAddress::FromV4(queue_pair.address.Get())};
    end.nic = truth_.fabric_.FindNic({.address = end.address});
    if (end.nic != topology::kNone) return end;
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("AddConnection: no NIC of a host has the address {}; add the "
                                 "host, and assign addresses before Attach",
                                 ToString(end.address)));
  }

  Status AddConnection(const Connection& connection, v1::Truth& out) {
    const auto first = EndOf(connection.first);
    if (!first) return tl::unexpected(first.error());
    const auto second = EndOf(connection.second);
    if (!second) return tl::unexpected(second.error());
    v1::TruthConnection& one = *out.add_connections();
    WriteEnd(connection.first, *first, *one.mutable_first());
    WriteEnd(connection.second, *second, *one.mutable_second());
    WritePaths({first->address, second->address, Qpn{connection.second.qpn}},
               *one.mutable_forward());
    WritePaths({second->address, first->address, Qpn{connection.first.qpn}},
               *one.mutable_backward());
    if (connection.job.empty()) return {};
    one.set_job(connection.job);
    one.set_from_rank(RankOf(connection.job, first->nic, out));
    one.set_to_rank(RankOf(connection.job, second->nic, out));
    one.set_stripe(stripes_[{connection.job, first->nic, second->nic}]++);
    return {};
  }

  // The ranks of a job are its NICs, in the order of its connections.
  uint32_t RankOf(const std::string& name, topology::NicIndex nic, v1::Truth& out) {
    auto at = jobs_.find(name);
    if (at == jobs_.end()) {
      at = jobs_.emplace(name, out.jobs_size()).first;
      v1::TruthJob& job = *out.add_jobs();
      job.set_name(name);
      job.set_id(static_cast<uint64_t>(out.jobs_size()));
    }
    v1::TruthJob& job = *out.mutable_jobs(at->second);
    const auto [rank, is_new] =
        ranks_.try_emplace({name, nic}, static_cast<uint32_t>(job.ranks_size()));
    if (is_new) {
      v1::TruthRank& one = *job.add_ranks();
      const topology::Nic& of = truth_.fabric_.nic(nic);
      one.set_host(truth_.fabric_.node(of.host).name);
      one.set_device(of.device);
    }
    return rank->second;
  }

  void WriteEnd(const QueuePair& queue_pair, const End& end, v1::TruthEnd& out) const {
    const topology::Nic& nic = truth_.fabric_.nic(end.nic);
    out.set_host(truth_.fabric_.node(nic.host).name);
    out.set_device(nic.device);
    out.set_address(ToString(end.address));
    out.set_qpn(queue_pair.qpn);
    out.set_udp_source_port(queue_pair.udp_source_port);
  }

  void WritePaths(const Flow& flow, google::protobuf::RepeatedPtrField<v1::TruthPath>& out) const {
    const auto at = truth_.paths_.find(flow);
    if (at == truth_.paths_.end()) return;
    for (const Path& path : at->second) {
      v1::TruthPath& one = *out.Add();
      one.set_start_ns(Wall(path.start));
      one.set_end_ns(Wall(path.end));
      for (const topology::PortIndex port : path.ports) {
        one.add_ports(truth_.fabric_.NameOf(port));
      }
      one.set_bytes(path.bytes);
    }
  }

  void WriteFrames(v1::TruthFrames& out) const {
    out.set_sent(truth_.sent_);
    out.set_delivered(truth_.delivered_);
    out.set_in_flight(truth_.transits_.size());
    for (size_t cause = 0; cause < kCauses.size(); ++cause) {
      if (truth_.lost_[cause] == 0) continue;
      v1::TruthLoss& loss = *out.add_lost();
      loss.set_cause(std::string(kCauses[cause]));
      loss.set_frames(truth_.lost_[cause]);
    }
  }

  const Truth& truth_;
  const int64_t end_;
  std::map<std::string, int> jobs_;  // index in v1::Truth::jobs
  std::map<std::pair<std::string, topology::NicIndex>, uint32_t> ranks_;
  std::map<std::tuple<std::string, topology::NicIndex, topology::NicIndex>, uint32_t> stripes_;
};

Result<std::string> Truth::Render(const std::vector<Connection>& connections, int64_t end) {
  v1::Truth out;
  if (Status written = Writer(*this, end).Write(connections, out); !written) {
    return tl::unexpected(written.error());
  }
  return sim::RenderJson(out);
}

}  // namespace rocescope::ns3_export

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_sflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "sim/emit/packet.h"
#include "sim/emit/pcap_file.h"
#include "sim/emit/sflow_exporter.h"
#include "sim/flow/flow_counters.h"
#include "sim/flow/sampled_frame.h"

namespace rocescope::sim {
namespace {

constexpr SimTime kLongestWait = kSecond;  // time of a sample in an unfinished datagram
constexpr double kMostSamples = 20e6;      // about 4 GB
constexpr size_t kHeaderBytes = 128;       // captured from a sampled packet

// The counters of a switch port in a counter sample.
enum Counter : uint8_t {
  kReceivedBytes,
  kReceivedFrames,
  kReceiveDiscards,
  kTtlExpired,
  kNoRoute,
  kBrokenFrames,
  kSentBytes,
  kSentFrames,
  kSendDiscards,
  kTooLong,
  kCounters,
};
constexpr std::array<Metric, kCounters> kMetrics = {
    Metric::kRxBytes,      Metric::kRxPackets, Metric::kRxDiscards, Metric::kTtlDrops,
    Metric::kNoRouteDrops, Metric::kFcsErrors, Metric::kTxBytes,    Metric::kTxPackets,
    Metric::kTxDiscards,   Metric::kMtuDrops};

size_t IndexOf(const FlowHistory::Entity& entity, Metric metric) {
  return static_cast<size_t>(std::ranges::find(entity.metrics, metric) - entity.metrics.begin());
}

double ExpectedSamples(const FlowModel& model, const FlowHistory& history) {
  const Scenario& scenario = model.simulation().scenario();
  double frames = 0;
  for (const SampledSpan& span : SampledSpans(scenario)) {
    for (const FlowModel::SentFlow& flow : model.SentFlows()) {
      const Series& series = history.series[flow.series];
      const double runs = series.At(span.end) - series.At(span.begin);
      const Exchange& traffic = flow.sender->traffic;
      frames += runs * (traffic.frames * static_cast<double>(flow.path.size() - 1) +
                        traffic.answer_frames * static_cast<double>(flow.way_back.size() - 1));
    }
  }
  return frames / scenario.telemetry.sflow_rate;
}

// The growth of a counter. Few queries of a few series, so nothing is remembered.
uint64_t GrowthOf(const FlowHistory& history, uint32_t value, const SampledSpan& span) {
  int64_t sum = 0;
  for (const FlowHistory::Term& term : history.values[value].terms) {
    const FlowHistory::Count& count = history.counts[term.count];
    const Series& series = history.series[count.series];
    sum += term.weight * (WholeCount(series.At(span.end) * count.scale) -
                          WholeCount(series.At(span.begin) * count.scale));
  }
  return static_cast<uint64_t>(std::max<int64_t>(0, sum));
}

// The time at which a series reaches a value that it reaches in the span.
SimTime TimeOf(const Series& series, double value, const SampledSpan& span) {
  const auto& points = series.points();
  const auto after = std::ranges::upper_bound(points, value, {}, &Series::Point::value);
  if (after == points.begin()) return span.begin;
  if (after == points.end()) return std::min(points.back().time, span.end);
  const Series::Point& before = *std::prev(after);
  const double part = (value - before.value) / (after->value - before.value);
  const auto time =
      before.time + static_cast<SimTime>(part * static_cast<double>(after->time - before.time));
  return std::clamp(time, span.begin, span.end);
}

class SflowOfRun {
 public:
  SflowOfRun(FlowModel& model, const FlowHistory& history, PcapFile& file)
      : scenario_(model.simulation().scenario()),
        fabric_(model.simulation().real_fabric()),
        history_(history),
        counters_(history, scenario_.epoch),
        flows_(model.SentFlows()),
        packets_(model.simulation().network()),
        port_(
            {.clock = {scenario_.epoch, 1}, .bits_per_second = scenario_.telemetry.collector_rate},
            file),
        ports_(fabric_.ports().size()),
        random_(scenario_.seed, "sflow of flows", 0) {
    MakeAgents();
    MakePorts();
    FindChanges();
  }

  FlowSflowReport Run();

 private:
  struct Agent {
    topology::NodeIndex node;
    SflowExporter exporter;
    bool is_up = true;
    uint32_t waits_for = 0;  // latest datagram in waiting_
  };
  struct Port {
    uint32_t entity = topology::kNone;       // in the history; kNone: not connected
    uint32_t priority = topology::kNone;     // entity of the data priority
    std::array<uint8_t, kCounters> index;    // each counter in the entity
    std::array<uint64_t, kCounters> base{};  // value at the switch's last start
    uint32_t counter_samples = 0;
    uint32_t packet_samples = 0;
    // Received frames that could not be sampled, because they arrived between two spans.
    uint64_t unsampled = 0;
    uint64_t stopped_at = 0;  // received frames when sampling stopped
  };
  // A switch goes down or comes back with its counters at zero.
  struct Change {
    SimTime time;
    uint32_t agent;
    bool is_up;
  };
  struct Waiting {
    SimTime since;
    uint32_t agent;
    uint32_t datagram;
  };
  struct Sample {
    SimTime time;
    uint32_t flow;  // index in flows_
    bool is_answer;
    uint8_t position;  // the switch on the path
    double progress;   // runs of the flow's collective
  };

  void MakeAgents();
  void MakePorts();
  void FindChanges();
  void SendBefore(SimTime time);  // datagrams that waited long enough
  void AdvanceTo(SimTime time);   // counter samples and changes
  void Make(const Change& change);
  void ReadCounters(uint32_t agent, SimTime now);
  void SendLater(uint32_t agent);
  // Frames that the port received since the start of its switch.
  uint64_t ReceivedAt(const Port& port, SimTime time) {
    return counters_.CounterAt(port.entity, port.index[kReceivedFrames], time) -
           port.base[kReceivedFrames];
  }
  void StartSampling(SimTime time);
  void StopSampling(SimTime time);
  std::vector<Sample> DrawSamples(const SampledSpan& span);
  void Add(const Sample& sample, const SampledSpan& span);
  double MarkedShare(topology::PortIndex sender, const SampledSpan& span);

  const Scenario& scenario_;
  const topology::Fabric& fabric_;
  const FlowHistory& history_;
  FlowCounters counters_;
  const std::vector<FlowModel::SentFlow> flows_;
  PacketWriter packets_;
  CollectorPort port_;
  std::vector<Port> ports_;  // by port
  std::vector<Agent> agents_;
  std::vector<uint32_t> agent_of_;  // by node; kNone: not a switch, or no agent
  std::vector<Change> changes_;
  size_t next_change_ = 0;
  uint64_t next_reading_ = 0;  // round of readings times the number of agents, plus the agent
  std::deque<Waiting> waiting_;
  // Both are indexed by port and belong to the present span.
  std::vector<double> ecn_capable_;   // frames
  std::vector<double> marked_share_;  // negative: not known yet
  std::vector<uint64_t> values_;
  std::array<uint8_t, kHeaderBytes> header_{};
  Random random_;
  FlowSflowReport report_;
};

void SflowOfRun::MakeAgents() {
  uint32_t number = 0;  // counts switches
  for (topology::NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
    agent_of_.push_back(topology::kNone);
    if (!fabric_.node(node).IsSwitch()) continue;
    if (!fabric_.node(node).sflow_agent.IsUnspecified()) {
      agent_of_[node] = static_cast<uint32_t>(agents_.size());
      agents_.push_back({node, SflowExporter(fabric_.node(node), number, port_)});
    }
    ++number;
  }
}

void SflowOfRun::MakePorts() {
  for (uint32_t i = 0; i < history_.entities.size(); ++i) {
    const FlowHistory::Entity& entity = history_.entities[i];
    if (entity.id.kind != EntityKind::kPort) continue;
    Port& port = ports_[entity.port];
    if (IndexOf(entity, Metric::kRxPackets) == entity.metrics.size()) {
      port.priority = i;
      continue;
    }
    port.entity = i;
    for (size_t counter = 0; counter < kMetrics.size(); ++counter) {
      port.index[counter] = static_cast<uint8_t>(IndexOf(entity, kMetrics[counter]));
    }
    values_.resize(std::max(values_.size(), entity.metrics.size()));
  }
}

void SflowOfRun::FindChanges() {
  for (const FlowHistory::Outage& outage : history_.outages) {
    if (outage.port != topology::kNone || agent_of_[outage.node] == topology::kNone) continue;
    changes_.push_back({outage.begin, agent_of_[outage.node], false});
    if (outage.end < kNever) changes_.push_back({outage.end, agent_of_[outage.node], true});
  }
  std::ranges::stable_sort(changes_, {}, &Change::time);
}

void SflowOfRun::SendBefore(SimTime time) {
  while (!waiting_.empty() && waiting_.front().since + kLongestWait <= time) {
    const Waiting& first = waiting_.front();
    SflowExporter& exporter = agents_[first.agent].exporter;
    if (exporter.waits_since() == first.since && exporter.datagrams() == first.datagram) {
      exporter.Send(first.since + kLongestWait);
    }
    waiting_.pop_front();
  }
}

// Agents read their counters one after another, spread over the period.
void SflowOfRun::AdvanceTo(SimTime time) {
  const SimTime period = scenario_.telemetry.sflow_counters;
  const auto count = static_cast<SimTime>(agents_.size());
  while (true) {
    const auto round = static_cast<SimTime>(next_reading_ / agents_.size());
    const auto agent = static_cast<uint32_t>(next_reading_ % agents_.size());
    const SimTime reading = period > 0 ? round * period + period / count * (agent + 1) : kNever;
    const SimTime change = next_change_ < changes_.size() ? changes_[next_change_].time : kNever;
    const SimTime next = std::min(reading, change);
    if (next > time || next == kNever) break;
    SendBefore(next);
    if (change <= reading) {
      Make(changes_[next_change_++]);
    } else {
      ++next_reading_;
      ReadCounters(agent, reading);
    }
  }
  SendBefore(time);
}

void SflowOfRun::Make(const Change& change) {
  Agent& agent = agents_[change.agent];
  agent.is_up = change.is_up;
  agent.exporter.Restart(change.time);
  agent.waits_for = 0;
  if (!change.is_up) return;
  const topology::Node& node = fabric_.node(agent.node);
  for (topology::PortIndex i = node.first_port; i < node.first_port + node.port_count; ++i) {
    Port& port = ports_[i];
    if (port.entity == topology::kNone) continue;
    for (size_t counter = 0; counter < port.base.size(); ++counter) {
      port.base[counter] = counters_.CounterAt(port.entity, port.index[counter], change.time);
    }
    port.counter_samples = port.packet_samples = 0;
    port.unsampled = 0;
    port.stopped_at = 0;
  }
}

// While sampling is off, the pool of packets that could be sampled does not grow: a collector
// compares it with the number of samples to estimate the rate.
void SflowOfRun::StartSampling(SimTime time) {
  for (Port& port : ports_) {
    if (port.entity != topology::kNone) port.unsampled += ReceivedAt(port, time) - port.stopped_at;
  }
}

void SflowOfRun::StopSampling(SimTime time) {
  for (Port& port : ports_) {
    if (port.entity != topology::kNone) port.stopped_at = ReceivedAt(port, time);
  }
}

void SflowOfRun::ReadCounters(uint32_t number, SimTime now) {
  Agent& agent = agents_[number];
  if (!agent.is_up) return;
  const topology::Node& node = fabric_.node(agent.node);
  for (topology::PortIndex i = node.first_port; i < node.first_port + node.port_count; ++i) {
    Port& port = ports_[i];
    if (port.entity == topology::kNone) continue;
    const FlowHistory::Entity& entity = history_.entities[port.entity];
    std::array<uint64_t, kCounters> now_at;
    for (size_t counter = 0; counter < now_at.size(); ++counter) {
      now_at[counter] =
          counters_.CounterAt(port.entity, port.index[counter], now) - port.base[counter];
    }
    agent.exporter.Add(
        now,
        SflowExporter::Counters{
            .sequence = ++port.counter_samples,
            .port = fabric_.port(i).number,
            .bits_per_second =
                counters_.GaugeAt(port.entity, IndexOf(entity, Metric::kLinkSpeed), now),
            .is_up = counters_.GaugeAt(port.entity, IndexOf(entity, Metric::kLinkUp), now) != 0,
            .is_enabled =
                counters_.GaugeAt(port.entity, IndexOf(entity, Metric::kAdminUp), now) != 0,
            .rx_bytes = now_at[kReceivedBytes],
            .rx_frames = now_at[kReceivedFrames],
            .rx_discards = now_at[kReceiveDiscards] + now_at[kTtlExpired] + now_at[kNoRoute],
            .fcs_errors = now_at[kBrokenFrames],
            .tx_bytes = now_at[kSentBytes],
            .tx_frames = now_at[kSentFrames],
            .tx_discards = now_at[kSendDiscards] + now_at[kTooLong]});
    SendLater(number);
    ++report_.counter_samples;
  }
}

void SflowOfRun::SendLater(uint32_t number) {
  Agent& agent = agents_[number];
  const uint32_t datagram = agent.exporter.datagrams();
  if (agent.waits_for == datagram) return;
  agent.waits_for = datagram;
  waiting_.push_back({*agent.exporter.waits_since(), number, datagram});
}

// All frames of all flows at all switches, one after another, are sampled at exponentially
// distributed distances. Each frame is sampled with the same probability at each switch.
std::vector<SflowOfRun::Sample> SflowOfRun::DrawSamples(const SampledSpan& span) {
  std::vector<Sample> samples;
  const double rate = scenario_.telemetry.sflow_rate;
  const auto distance = [&] { return -rate * std::log1p(-random_.Uniform()); };
  double left = distance();
  for (uint32_t flow = 0; flow < flows_.size(); ++flow) {
    const FlowModel::SentFlow& of = flows_[flow];
    const Series& series = history_.series[of.series];
    const double begin = series.At(span.begin);
    const double runs = series.At(span.end) - begin;
    if (runs <= 0) continue;
    const auto walk = [&](std::span<const topology::PortIndex> path, double frames_per_run,
                          double ecn_capable, bool is_answer) {
      const double frames = frames_per_run * runs;
      if (frames <= 0) return;
      for (const topology::PortIndex port : path) ecn_capable_[port] += ecn_capable * runs;
      for (size_t position = 1; position < path.size(); ++position) {
        double at = left;
        for (; at < frames; at += distance()) {
          const double progress = begin + runs * (at / frames);
          samples.push_back({.time = TimeOf(series, progress, span),
                             .flow = flow,
                             .is_answer = is_answer,
                             .position = static_cast<uint8_t>(position),
                             .progress = progress});
        }
        left = at - frames;
      }
    };
    const Exchange& traffic = of.sender->traffic;
    const bool is_foreign = of.sender->queue_pair->identity().foreign;
    const double grants = traffic.GrantBytes() > 0 ? traffic.messages : 0;
    walk(of.path, traffic.frames, is_foreign ? 0 : traffic.data_frames, false);
    walk(of.way_back, traffic.answer_frames, grants, true);
  }
  std::ranges::stable_sort(samples, {}, &Sample::time);
  return samples;
}

double SflowOfRun::MarkedShare(topology::PortIndex sender, const SampledSpan& span) {
  double& share = marked_share_[sender];
  if (share >= 0) return share;
  share = 0;
  const Port& port = ports_[sender];
  if (port.priority == topology::kNone) return share;
  const FlowHistory::Entity& entity = history_.entities[port.priority];
  const auto marked =
      static_cast<uint32_t>(entity.first_value + IndexOf(entity, Metric::kEcnMarked));
  const uint64_t marks = GrowthOf(history_, marked, span);
  if (marks == 0) return share;
  if (ecn_capable_[sender] > 0) {
    share = std::min(1.0, static_cast<double>(marks) / ecn_capable_[sender]);
  }
  return share;
}

void SflowOfRun::Add(const Sample& sample, const SampledSpan& span) {
  const FlowModel::SentFlow& flow = flows_[sample.flow];
  const std::span<const topology::PortIndex> path = sample.is_answer ? flow.way_back : flow.path;
  const topology::PortIndex output = path[sample.position];
  const uint32_t number = agent_of_[fabric_.port(output).node];
  if (number == topology::kNone || !agents_[number].is_up) return;
  Frame frame = sample.is_answer ? AnswerFrame(*flow.sender, sample.progress, random_.Uniform())
                                 : SentFrame(*flow.sender, sample.progress, random_.Uniform());
  frame.ttl = static_cast<uint8_t>(frame.ttl - (sample.position - 1));
  for (uint8_t i = 1; i < sample.position && frame.ecn_capable; ++i) {
    const double share = MarkedShare(path[i], span);
    frame.congestion_experienced |= share > 0 && random_.Uniform() < share;
  }
  const topology::PortIndex input = fabric_.Peer(path[sample.position - 1]);
  Port& port = ports_[input];
  const uint64_t pool = ReceivedAt(port, sample.time) - port.unsampled;
  agents_[number].exporter.Add(
      sample.time,
      SflowExporter::PacketSample{
          .sequence = ++port.packet_samples,
          .rate = scenario_.telemetry.sflow_rate,
          .pool = static_cast<uint32_t>(pool),
          .input = fabric_.port(input).number,
          .output = fabric_.port(output).number,
          .packet = {.length = packets_.LengthOf(frame),
                     .header = std::span(header_).first(packets_.WriteFrame(frame, header_))}});
  SendLater(number);
  ++report_.packet_samples;
}

FlowSflowReport SflowOfRun::Run() {
  if (agents_.empty()) return report_;
  for (const SampledSpan& span : SampledSpans(scenario_)) {
    marked_share_.assign(ports_.size(), -1);
    ecn_capable_.assign(ports_.size(), 0);
    AdvanceTo(span.begin);
    StartSampling(span.begin);
    for (const Sample& sample : DrawSamples(span)) {
      AdvanceTo(sample.time);
      Add(sample, span);
    }
    AdvanceTo(span.end);
    StopSampling(span.end);
  }
  AdvanceTo(scenario_.duration);
  for (Agent& agent : agents_) agent.exporter.Send(scenario_.duration);
  return report_;
}

}  // namespace

std::vector<SampledSpan> SampledSpans(const Scenario& scenario) {
  if (!scenario.telemetry.sflow_spans) return {{0, scenario.duration}};
  const SimTime length = scenario.telemetry.sflow_spans->length;
  std::vector<SampledSpan> spans;
  const auto add = [&](SimTime begin) {
    begin = std::max<SimTime>(0, begin);
    spans.push_back({begin, std::min(scenario.duration, begin + length)});
  };
  for (const FaultOptions& fault : scenario.faults) add(fault.onset - length / 2);
  Random random(scenario.seed, "sflow spans", 0);
  for (uint32_t i = 0; i < scenario.telemetry.sflow_spans->random; ++i) {
    add(static_cast<SimTime>(
        random.Uniform() * static_cast<double>(std::max<SimTime>(0, scenario.duration - length))));
  }
  std::ranges::sort(spans, {}, &SampledSpan::begin);
  std::vector<SampledSpan> merged;
  for (const SampledSpan& span : spans) {
    if (span.begin >= span.end) continue;
    if (merged.empty() || span.begin > merged.back().end) {
      merged.push_back(span);
    } else {
      merged.back().end = std::max(merged.back().end, span.end);
    }
  }
  return merged;
}

Result<FlowSflowReport> WriteFlowSflow(FlowModel& model, const FlowHistory& history,
                                       const std::string& path) {
  const double samples = ExpectedSamples(model, history);
  if (samples > kMostSamples) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("telemetry: sflow_rate would result in {:.0f} million packet samples, "
                    "but at most {:.0f} million are supported: raise sflow_rate, or limit "
                    "the time of samples by sflow_spans",
                    samples / 1e6, kMostSamples / 1e6));
  }
  auto file = PcapFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  const FlowSflowReport report = SflowOfRun(model, history, **file).Run();
  if (Status closed = (*file)->Close(); !closed) return tl::unexpected(closed.error());
  return report;
}

}  // namespace rocescope::sim

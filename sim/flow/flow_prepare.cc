// SPDX-License-Identifier: BSD-3-Clause
// Groups, senders and costs of all jobs and streams; the faults.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/fault/injector.h"
#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"
#include "sim/run/gpu_values.h"

namespace rocescope::sim {
// Costs by the shapes of collectives that have the same cost.
struct FlowModel::Costs {
  using Key = std::tuple<CollectiveKind, uint32_t, uint64_t, uint32_t, uint32_t, uint32_t, SimTime,
                         SimTime, uint32_t, std::vector<bool>, double>;
  std::map<Key, std::shared_ptr<const CollectiveCost>> known;
};

SimTime FlowModel::AckTimeout() const {
  return static_cast<SimTime>(static_cast<double>(scenario_.network.nics.ack_timeout) *
                              scenario_.time_scale);
}

Result<std::unique_ptr<FlowModel>> FlowModel::Make(const Scenario& scenario,
                                                   std::optional<size_t> without_fault) {
  std::unique_ptr<FlowModel> model(new FlowModel(scenario));
  if (const Status prepared = model->Prepare(without_fault); !prepared) {
    return tl::unexpected(prepared.error());
  }
  return model;
}

namespace {

// Events that a scenario may repeat without limit must not take forever.
Status CheckEvents(const Scenario& scenario) {
  static constexpr SimTime kMost = 1'000'000;  // events
  const auto check = [](const std::string& what, SimTime length, SimTime period) {
    if (period <= 0 || length / period <= kMost) return Status();
    return Status(MakeError(ErrorCode::kInvalidArgument,
                            fmt::format("{} would occur {} times, but the flow model simulates at "
                                        "most {} of them: use a longer period",
                                        what, length / period, kMost)));
  };
  const SimTime bursts = scenario.benign.microbursts.period;
  if (const Status few = check("benign: microbursts", scenario.duration, bursts); !few) return few;
  for (const FaultOptions& fault : scenario.faults) {
    if (fault.kind != FaultKind::kFlap) continue;
    const SimTime lasts = std::min(fault.duration, scenario.duration - fault.onset);
    if (const Status few = check("faults: flap", lasts, fault.period); !few) return few;
  }
  return {};
}

}  // namespace

Status FlowModel::Prepare(std::optional<size_t> without_fault) {
  if (scenario_.network.switches.spray) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        "the flow model cannot simulate packet spraying (network: spray): use the packet model");
  }
  if (const Status few = CheckEvents(scenario_); !few) return few;
  auto simulation = Simulation::Make(scenario_, {.directory = {}, .without_fault = without_fault});
  if (!simulation) return tl::unexpected(simulation.error());
  simulation_ = *std::move(simulation);
  random_ = Random(scenario_.seed, "flow model", 0);
  builder_ = std::make_unique<HistoryBuilder>(fabric(), scenario_.network.nics.data_priority,
                                              scenario_.benign.pre_fec_bit_error_ratio.on());
  paths_ = std::make_unique<Paths>(simulation_->network());
  const size_t ports = fabric().ports().size();
  competition_ = std::make_unique<Competition>(ports);
  ports_.resize(ports);
  groups_at_.resize(ports);
  demands_.resize(ports);
  is_contended_.resize(ports);
  backlogs_.resize(ports);
  damage_.resize(ports);
  idle_strikes_.resize(ports);
  state_ = DeriveState(fabric(), scenario_.network, {}, {});
  for (topology::PortIndex port = 0; port < ports; ++port) {
    competition_->SetCapacity(port, state_.capacity[port]);
  }
  path_records_.resize(simulation_->network().queue_pair_count());
  jobs_.resize(simulation_->jobs().size());
  job_records_.resize(jobs_.size());
  Costs costs;
  for (uint32_t job = 0; job < jobs_.size(); ++job) {
    if (const Status prepared = PrepareJob(job, costs); !prepared) return prepared;
  }
  if (const Status fits = CheckWork(); !fits) return fits;
  for (size_t i = 0; i < scenario_.streams.size(); ++i) {
    const uint32_t requester = simulation_->streams()[i]->requester().identity().number;
    const uint32_t group = AddStream(simulation_->network().queue_pair(requester),
                                     scenario_.streams[i].load, scenario_.streams[i].message);
    groups_[group].senders[0].verb = scenario_.streams[i].verb;
    At(0, [this, group] { SetPresent({{group}}, true); });
  }
  PrepareForeign();
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    if (const Status added = AddFault(scenario_.faults[i], without_fault != i); !added) {
      return added;
    }
  }
  for (const MaintenanceOptions& work : scenario_.maintenance) Maintain(work);
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    groups_[i].random = Random(scenario_.seed, "losses of a group", i);
  }
  PrepareGpus();
  PrepareBenign();
  return {};
}

// Without competition.
SimTime FlowModel::ShortestIteration(uint32_t number) const {
  const JobState& state = jobs_[number];
  const std::vector<JobOptions::Phase>& phases = state.job->options().phases;
  SimTime shortest = 0;
  for (uint32_t phase = 0; phase < phases.size(); ++phase) {
    SimTime longest = 0;  // run of a collective
    for (const uint32_t index : state.groups) {
      const Group& group = groups_[index];
      if (group.phase != phase || group.cost == nullptr) continue;
      longest = std::max(longest, group.cost->Duration(group.line_rate));
    }
    shortest += phases[phase].compute + longest;
  }
  return shortest;
}

// The truth lists each iteration, and the history has a few points for each time that a lane sends.
Status FlowModel::CheckWork() const {
  struct Work {
    double iterations = 0;
    double lane_runs = 0;
  };
  Work all;
  Work largest;
  uint32_t job_of_largest = 0;
  const auto share = [](const Work& work) {
    return std::max(work.iterations / kMostIterations, work.lane_runs / kMostLaneRuns);
  };
  for (uint32_t number = 0; number < jobs_.size(); ++number) {
    const JobState& state = jobs_[number];
    const JobOptions& options = state.job->options();
    const SimTime lasts = std::min(options.end, scenario_.duration) - options.start;
    if (lasts <= 0) continue;
    Work work{.iterations = static_cast<double>(lasts) /
                            static_cast<double>(std::max<SimTime>(1, ShortestIteration(number)))};
    if (options.iterations > 0) {
      work.iterations = std::min<double>(work.iterations, options.iterations);
    }
    size_t lanes = 0;
    for (const uint32_t index : state.groups) {
      if (groups_[index].phase >= options.phases.size()) continue;
      lanes += std::clamp<size_t>(groups_[index].senders.size(), 1, kMostLanes);
    }
    work.lane_runs = work.iterations * static_cast<double>(lanes);
    all.iterations += work.iterations;
    all.lane_runs += work.lane_runs;
    if (share(work) <= share(largest)) continue;
    largest = work;
    job_of_largest = number;
  }
  if (share(all) <= 1) return {};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("the job {} would run about {:.0f} iterations of {:.3g} ms with {:.1f} million "
                  "flow records, all jobs {:.0f} with {:.1f} million, but a run of the flow model "
                  "has at most {:.0f} iterations and {:.0f} million flow records: lengthen the "
                  "phases of the job (compute or size), shorten `duration`, or limit the job by "
                  "`iterations` or `end`",
                  jobs_[job_of_largest].job->options().name, largest.iterations,
                  static_cast<double>(ShortestIteration(job_of_largest)) / kMillisecond,
                  largest.lane_runs / 1e6, all.iterations, all.lane_runs / 1e6, kMostIterations,
                  kMostLaneRuns / 1e6));
}

Status FlowModel::PrepareJob(uint32_t number, Costs& costs) {
  const Job& job = *simulation_->jobs()[number];
  const JobOptions& options = job.options();
  JobState& state = jobs_[number];
  state.job = &job;
  state.ranks.resize(options.gpus.size());
  state.random = Random(options.seed, "flow job", options.id);
  state.busy_series = builder_->AddSeries();
  state.group_of.assign(job.phases().size() + 1,
                        std::vector<uint32_t>(options.gpus.size(), topology::kNone));
  for (uint32_t phase = 0; phase < job.phases().size(); ++phase) {
    const JobOptions::Phase& of = job.phases()[phase];
    if (!of.has_collective) continue;
    std::vector<std::vector<uint32_t>> ranks = of.groups;
    if (ranks.empty()) {
      ranks.emplace_back(options.gpus.size());
      std::iota(ranks[0].begin(), ranks[0].end(), 0);
    }
    for (uint32_t which = 0; which < ranks.size(); ++which) {
      const auto index = static_cast<uint32_t>(groups_.size());
      Group& group = groups_.emplace_back();
      state.groups.push_back(index);
      group.job = number;
      group.phase = phase;
      group.members = ranks[which];
      group.waiting = static_cast<uint32_t>(group.members.size());
      for (const uint32_t rank : group.members) state.group_of[phase][rank] = index;
      for (const Job::Channel& channel : job.channels()) {
        if (channel.phase != phase || channel.group != which) continue;
        for (QueuePair* const sender : channel.senders) {
          group.senders.push_back({.queue_pair = sender});
        }
      }
      if (const Status made = PrepareCost(group, job, costs); !made) return made;
      ShareTraffic(group, job, which);
    }
  }
  if (!job.checkpoints().empty()) PrepareCheckpoint(number);
  if (options.start < scenario_.duration) At(options.start, [this, number] { StartJob(number); });
  if (options.end < scenario_.duration) At(options.end, [this, number] { StopJob(number); });
  return {};
}

Status FlowModel::PrepareCost(Group& group, const Job& job, Costs& costs) {
  const JobOptions& options = job.options();
  CollectiveOptions collective = job.phases()[group.phase].collective;
  collective.ranks = static_cast<uint32_t>(group.members.size());
  std::vector<bool> local(group.members.size());
  const auto host_of = [&](uint32_t member) {
    return fabric().gpu(options.gpus[group.members[member]]).host;
  };
  for (uint32_t member = 0; member < group.members.size(); ++member) {
    local[member] = host_of(member) == host_of((member + 1) % group.members.size());
  }
  const topology::PortIndex first = fabric().nic(job.NicOf(group.members[0])).port;
  const auto line_rate =
      static_cast<double>(fabric().link(fabric().port(first).link).bits_per_second);
  group.line_rate = line_rate / 8;
  FindPaths(group);
  const auto frame = static_cast<SimTime>(kFullFrameOnWire * 8 / line_rate * kSecond);
  for (const Sender& sender : group.senders) {
    for (const topology::PortIndex port : sender.path) {
      group.latency += fabric().link(fabric().port(port).link).delay.count() * kNanosecond + frame;
    }
  }
  if (!group.senders.empty()) group.latency /= static_cast<SimTime>(group.senders.size());
  constexpr SimTime kSame = 50 * kNanosecond;
  group.latency = group.latency / kSame * kSame;
  std::shared_ptr<const CollectiveCost>& cost = costs.known[{
      collective.kind, collective.ranks, collective.bytes, collective.chunks, collective.at_once,
      collective.microbatches, collective.compute, group.latency, options.chunk, local, line_rate}];
  if (cost == nullptr) {
    const Result<Plan> plan = MakePlan(collective);
    if (!plan) return tl::unexpected(plan.error());
    cost = std::make_shared<CollectiveCost>(
        *plan,
        MessageSizes{.mtu = scenario_.network.nics.mtu,
                     .ack_every = scenario_.network.nics.ack_every,
                     .chunk = options.chunk},
        CollectiveCost::Placement{
            .same_host = [&](uint32_t a, uint32_t b) { return host_of(a) == host_of(b); },
            .latency = group.latency,
            .local_rate = options.local_rate,
            .line_rate = line_rate});
  }
  group.cost = cost;
  return {};
}

// The queue pairs of a channel share its traffic.
void FlowModel::ShareTraffic(Group& group, const Job& job, uint32_t which) {
  std::map<std::pair<uint32_t, uint32_t>, const CollectiveCost::Pair*> traffic;  // by ranks
  for (const CollectiveCost::Pair& pair : group.cost->pairs()) {
    if (!pair.is_local) traffic[{group.members[pair.from], group.members[pair.to]}] = &pair;
  }
  size_t next = 0;
  uint32_t number = 0;
  for (const Job::Channel& channel : job.channels()) {
    if (channel.phase != group.phase || channel.group != which) continue;
    const CollectiveCost::Pair& pair = *traffic.at({channel.from, channel.to});
    const auto stripes = static_cast<double>(channel.senders.size());
    for (size_t i = 0; i < channel.senders.size(); ++i) {
      Sender& sender = group.senders[next++];
      sender.traffic = pair.traffic.Divided(stripes);
      sender.channel = number;
      sender.bursts = std::min(static_cast<double>(pair.bursts), sender.traffic.messages);
    }
    ++number;
  }
}

// All ranks write to storage, each over its own connection.
void FlowModel::PrepareCheckpoint(uint32_t number) {
  JobState& state = jobs_[number];
  const Job& job = *state.job;
  const auto index = static_cast<uint32_t>(groups_.size());
  Group& group = groups_.emplace_back();
  state.groups.push_back(index);
  group.kind = Group::Kind::kCheckpoint;
  group.job = number;
  group.phase = static_cast<uint32_t>(job.phases().size());
  Exchange traffic;
  AddTransfer({.mtu = scenario_.network.nics.mtu,
               .ack_every = scenario_.network.nics.ack_every,
               .chunk = CheckpointWriter::kMessage},
              job.options().checkpoint.bytes, traffic);
  traffic.WithoutGrants();
  group.wire_bytes = traffic.WireBytes();
  for (uint32_t rank = 0; rank < job.checkpoints().size(); ++rank) {
    group.members.push_back(rank);
    state.group_of[group.phase][rank] = index;
    group.senders.push_back({.queue_pair = job.checkpoints()[rank]->connection().first,
                             .traffic = traffic,
                             .channel = rank,
                             .bursts = 1});
  }
  group.waiting = static_cast<uint32_t>(group.members.size());
  const topology::PortIndex port = fabric().nic(job.NicOf(0)).port;
  group.line_rate =
      static_cast<double>(fabric().link(fabric().port(port).link).bits_per_second) / 8;
}

uint32_t FlowModel::AddStream(QueuePair& requester, double load, uint64_t message) {
  Exchange traffic;
  AddTransfer({.mtu = scenario_.network.nics.mtu,
               .ack_every = scenario_.network.nics.ack_every,
               .chunk = static_cast<uint32_t>(std::min<uint64_t>(message, UINT32_MAX))},
              message, traffic);
  traffic.WithoutGrants();
  const topology::PortIndex port = fabric().nic(requester.nic().number()).port;
  Group& group = groups_.emplace_back();
  group.kind = Group::Kind::kStream;
  group.load = load;
  group.wire_bytes = traffic.WireBytes();
  group.senders.push_back({.queue_pair = &requester, .traffic = traffic, .bursts = 1});
  group.line_rate =
      static_cast<double>(fabric().link(fabric().port(port).link).bits_per_second) / 8;
  return static_cast<uint32_t>(groups_.size() - 1);
}

// TCP flows at their average load. One unit of progress is a message.
void FlowModel::PrepareForeign() {
  constexpr double kSegment = 1460;
  constexpr double kHeaders = 14 + 20 + 20;
  for (const auto& flow : simulation_->foreign()) {
    const TcpFlow::Options& options = flow->options();
    if (options.start >= scenario_.duration) continue;
    const auto bytes = static_cast<double>(options.message);
    Exchange traffic;
    traffic.frames = traffic.data_frames = std::ceil(bytes / kSegment);
    traffic.bytes = bytes + traffic.frames * kHeaders;
    traffic.answer_frames = std::ceil(traffic.frames / 2);  // delayed ACKs
    traffic.answer_bytes = traffic.answer_frames * kHeaders;
    traffic.messages = 1;
    const uint32_t index = AddStream(*flow->connection().first, options.load, options.message);
    groups_[index].senders[0].traffic = traffic;
    groups_[index].wire_bytes = traffic.WireBytes();
    At(options.start, [this, index] { SetPresent({{index}}, true); });
    if (options.end < scenario_.duration) {
      At(options.end, [this, index] { SetPresent({{index}}, false); });
    }
  }
}

void FlowModel::PrepareGpus() {
  for (const JobState& job : jobs_) {
    const auto& gpus = job.job->options().gpus;
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
      builder_->AddGpuBusy(gpus[rank], job.busy_series,
                           job.job->pace(static_cast<uint32_t>(rank)) / job.job->pace(0));
    }
  }
  for (topology::GpuIndex index = 0; index < fabric().gpus().size(); ++index) {
    builder_->SetGpu(index, Metric::kMemoryTotal, 0, gpu::kMemory);
    UpdateGpu(index);
  }
}

Status FlowModel::AddFault(const FaultOptions& options, bool active) {
  if (NeedsPackets(options.kind)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the flow model cannot simulate {}, which depends on the order of "
                                 "packets in queues: use the packet model",
                                 InfoOf(options.kind).name));
  }
  const auto number = static_cast<uint32_t>(fault_records_.size());
  FaultRecord& record = fault_records_.emplace_back();
  record.options = options;
  record.culprits = simulation_->injector().happened()[number].culprits;
  for (const uint32_t culprit : record.culprits) {
    fault_streams_[number].push_back(
        AddStream(simulation_->network().queue_pair(culprit), 1, options.message));
  }
  const auto add_source = [&](LossSource source) {
    source.fault = number;
    sources_.push_back(std::move(source));
  };
  const auto cut = [&](topology::LinkIndex link, const char* cause) {
    if (link == topology::kNone) return;
    for (const topology::PortIndex end : fabric().link(link).ends) {
      add_source({.sender = end, .cuts = true, .cause = cause});
    }
  };
  switch (options.kind) {
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
      for (const topology::PortIndex sender : SendersOf(fabric(), options)) {
        const bool counted = options.kind == FaultKind::kBitErrors;
        add_source({.sender = sender,
                    .probability = options.probability,
                    .counted_fcs = counted,
                    .burst = std::max(1.0, options.burst),
                    .least_length = options.least_length,
                    .cause = counted ? "bit_error" : "wire"});
      }
      break;
    case FaultKind::kCorruption:
      add_source({.node = options.node,
                  .probability = options.probability,
                  .counted_icrc = true,
                  .cause = "bad_icrc"});
      break;
    case FaultKind::kBlackhole:
      add_source({.node = options.node, .cuts = true, .cause = "blackhole"});
      break;
    case FaultKind::kMtuMismatch:
      add_source({.node = options.node, .counted_mtu = true, .cuts = true, .cause = "too_long"});
      break;
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
      cut(options.link, "link_down");
      break;
    case FaultKind::kSwitchCrash:
      for (const topology::Port& port : fabric().PortsOf(options.node)) {
        cut(port.link, "device_down");
      }
      break;
    case FaultKind::kNicCrash:
      cut(fabric().port(fabric().nic(options.nic).port).link, "device_down");
      break;
    default:
      break;
  }
  if (!active) return {};
  At(options.onset, [this, number] { Toggle(number, true); });
  if (const SimTime end = EndOf(options); end < scenario_.duration) {
    At(end, [this, number] { Toggle(number, false); });
  }
  if (const SimTime until = UntilOfVictims(scenario_, options); until < scenario_.duration) {
    At(until, [this, number] { NoteRetransmitted(number); });
  }
  return {};
}

}  // namespace rocescope::sim

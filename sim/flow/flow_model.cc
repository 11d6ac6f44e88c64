// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/flow/flow_constants.h"

namespace rocescope::sim {
namespace {

constexpr int kProgressSteps = 200;

// The shapes of collectives that have the same cost.
using CostKey = std::tuple<CollectiveKind, uint32_t, uint64_t, uint32_t, uint32_t, uint32_t,
                           SimTime, SimTime, uint32_t, std::vector<bool>, double>;

// Irwin-Hall: mean 0, standard deviation 1.
double Normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 3; ++i) {
    uint64_t bits = random.Next();
    for (int part = 0; part < 4; ++part, bits >>= 16) {
      sum += (static_cast<double>(bits & 0xffff) + 0.5) / 65536;
    }
  }
  return sum;
}

// The first part of a scenario that only the packet model simulates; empty: none.
std::string_view UnsupportedPart(const Scenario& scenario) {
  if (scenario.network.switches.spray) return "packet spraying (network: spray)";
  const BenignOptions& benign = scenario.benign;
  if (benign.pre_fec_bit_error_ratio.on()) return "FEC counters (pre_fec_bit_error_ratio)";
  if (benign.frame_errors.ports > 0 || benign.microbursts.period > 0 ||
      benign.harmless_discards.ports > 0 || benign.gpu_clock_spread > 0) {
    return "benign events other than bit_error_ratio";
  }
  if (!scenario.maintenance.empty()) return "maintenance";
  if (!scenario.foreign.empty()) return "TCP traffic (foreign)";
  for (const JobOptions& job : scenario.jobs) {
    if (!job.interludes.empty()) return "interludes of a job";
    if (job.checkpoint.every > 0) return "checkpoints of a job";
    if (!job.restarts.empty()) return "restarts of a job";
    if (job.end != kNever) return "the end of a job (use iterations)";
  }
  for (const FaultOptions& fault : scenario.faults) {
    if (fault.growth < 1) return "faults that grow";
  }
  return "";
}

}  // namespace

FlowModel::~FlowModel() = default;

Result<std::unique_ptr<FlowModel>> FlowModel::Make(const Scenario& scenario) {
  std::unique_ptr<FlowModel> model(new FlowModel(scenario));
  if (const Status prepared = model->Prepare(); !prepared) return tl::unexpected(prepared.error());
  return model;
}

Status FlowModel::Prepare() {
  if (const std::string_view part = UnsupportedPart(scenario_); !part.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the flow model cannot simulate {}: use the packet model", part));
  }
  auto simulation = Simulation::Make(scenario_, {});
  if (!simulation) return tl::unexpected(simulation.error());
  simulation_ = *std::move(simulation);
  const topology::Fabric& fabric = simulation_->real_fabric();
  random_ = Random(scenario_.seed, "flow model", 0);
  builder_ = std::make_unique<HistoryBuilder>(fabric, scenario_.network.nics.data_priority);
  const size_t ports = fabric.ports().size();
  const size_t nodes = fabric.nodes().size();
  ports_.resize(ports);
  link_down_reasons_.resize(fabric.links().size());
  route_avoids_.resize(fabric.links().size());
  capacity_factor_.assign(ports, 1);
  for (topology::PortIndex port = 0; port < ports; ++port) {
    // Each direction of a link draws the same ratio as in the packet model.
    const RatioRange& range = scenario_.benign.bit_error_ratio;
    bit_error_ratio_.push_back(range.on() ? DrawRatio(range, scenario_.seed, "bit errors", port)
                                          : 0);
  }
  added_delay_.resize(ports);
  receive_limit_.resize(fabric.nics().size());
  storms_.resize(fabric.nics().size());
  node_is_down_.resize(nodes);
  blackholes_.resize(nodes);
  mtu_.assign(nodes, scenario_.network.switches.mtu);
  marks_factor_.assign(nodes, 1);
  pauses_early_.resize(nodes);
  loses_cnps_.resize(nodes);
  paused_by_.resize(ports);
  path_records_.resize(simulation_->network().queue_pair_count());
  jobs_.resize(simulation_->jobs().size());
  job_records_.resize(jobs_.size());
  for (uint32_t job = 0; job < jobs_.size(); ++job) {
    if (const Status prepared = PrepareJob(job); !prepared) return prepared;
  }
  for (size_t i = 0; i < scenario_.streams.size(); ++i) {
    const uint32_t requester = simulation_->streams()[i]->requester().identity().number;
    AddStreamGroup(simulation_->network().queue_pair(requester), scenario_.streams[i].load,
                   scenario_.streams[i].message);
    groups_.back().is_active = true;
  }
  for (const FaultOptions& fault : scenario_.faults) {
    if (const Status added = AddFault(fault); !added) return added;
  }
  PrepareGpus();
  FindPaths();
  return {};
}

Status FlowModel::PrepareJob(uint32_t number) {
  const Job& job = *simulation_->jobs()[number];
  const JobOptions& options = job.options();
  const topology::Fabric& fabric = simulation_->real_fabric();
  JobState& state = jobs_[number];
  state.job = &job;
  state.ranks.resize(options.gpus.size());
  state.random = Random(options.seed, "flow job", options.id);
  state.busy_series = builder_->AddSeries();
  state.group_of.assign(options.phases.size(),
                        std::vector<uint32_t>(options.gpus.size(), topology::kNone));
  const MessageSizes sizes = {.mtu = scenario_.network.nics.mtu,
                              .ack_every = scenario_.network.nics.ack_every,
                              .chunk = options.chunk};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> group_at;  // by phase and group
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, const Job::Channel*> channels;
  for (const Job::Channel& channel : job.channels()) {
    group_at.try_emplace({channel.phase, channel.group}, topology::kNone);
  }
  std::map<CostKey, std::shared_ptr<const CollectiveCost>> costs;
  for (uint32_t phase = 0; phase < options.phases.size(); ++phase) {
    std::vector<std::vector<uint32_t>> groups = options.phases[phase].groups;
    if (groups.empty()) {
      groups.emplace_back(options.gpus.size());
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    for (uint32_t which = 0; which < groups.size(); ++which) {
      const auto index = static_cast<uint32_t>(groups_.size());
      group_at[{phase, which}] = index;
      Group& group = groups_.emplace_back();
      group.job = number;
      group.phase = phase;
      group.members = groups[which];
      group.waiting = static_cast<uint32_t>(group.members.size());
      for (const uint32_t rank : group.members) state.group_of[phase][rank] = index;
    }
  }
  for (const Job::Channel& channel : job.channels()) {
    Group& group = groups_[group_at.at({channel.phase, channel.group})];
    for (QueuePair* sender : channel.senders) {
      group.senders.push_back({.queue_pair = sender, .traffic = {}, .path = {}, .way_back = {}});
    }
  }
  for (auto& [key, index] : group_at) {
    Group& group = groups_[index];
    CollectiveOptions collective = options.phases[group.phase].collective;
    collective.ranks = static_cast<uint32_t>(group.members.size());
    std::vector<bool> local(group.members.size());
    const auto host_of = [&](uint32_t member) {
      return fabric.gpu(options.gpus[group.members[member]]).host;
    };
    for (uint32_t member = 0; member < group.members.size(); ++member) {
      local[member] = host_of(member) == host_of((member + 1) % group.members.size());
    }
    // Latency before anything is known about paths: that of the first sender is typical.
    SimTime latency = 0;
    for (Sender& sender : group.senders) FindPath(sender);
    const double line_rate = static_cast<double>(
        fabric.link(fabric.port(fabric.nic(job.NicOf(group.members[0])).port).link)
            .bits_per_second);
    for (const Sender& sender : group.senders) {
      const auto frame = static_cast<SimTime>(kFullFrameOnWire * 8 / line_rate * kSecond);
      SimTime one = 0;
      for (const topology::PortIndex port : sender.path) {
        one += fabric.link(fabric.port(port).link).delay.count() * kNanosecond + frame;
      }
      latency += one;
    }
    if (!group.senders.empty()) latency /= static_cast<SimTime>(group.senders.size());
    constexpr SimTime kSame = 50 * kNanosecond;
    latency = latency / kSame * kSame;
    group.latency = latency;
    CostKey key_of_cost = {collective.kind,    collective.ranks,
                           collective.bytes,   collective.chunks,
                           collective.at_once, collective.microbatches,
                           collective.compute, latency,
                           options.chunk,      local,
                           line_rate};
    std::shared_ptr<const CollectiveCost>& cost = costs[key_of_cost];
    if (cost == nullptr) {
      const Result<Plan> plan = MakePlan(collective);
      if (!plan) return tl::unexpected(plan.error());
      cost = std::make_shared<CollectiveCost>(
          *plan, sizes,
          CollectiveCost::Placement{
              .same_host = [&](uint32_t a, uint32_t b) { return host_of(a) == host_of(b); },
              .latency = latency,
              .local_rate = options.local_rate,
              .line_rate = line_rate});
    }
    group.cost = cost;
    group.line_rate = line_rate / 8;
    // The senders of a channel share its traffic.
    std::map<std::pair<uint32_t, uint32_t>, const CollectiveCost::Pair*> traffic;  // by ranks
    for (const CollectiveCost::Pair& pair : cost->pairs()) {
      if (!pair.is_local) traffic[{group.members[pair.from], group.members[pair.to]}] = &pair;
    }
    size_t next = 0;
    uint32_t lane = 0;
    for (const Job::Channel& channel : job.channels()) {
      if (channel.phase != key.first || channel.group != key.second) continue;
      const CollectiveCost::Pair& pair = *traffic.at({channel.from, channel.to});
      const auto stripes = static_cast<double>(channel.senders.size());
      for (size_t i = 0; i < channel.senders.size(); ++i) {
        Sender& sender = group.senders[next++];
        sender.traffic = pair.traffic.Divided(stripes);
        sender.lane = lane;
        sender.bursts = std::min(static_cast<double>(pair.transfers), sender.traffic.messages);
      }
      ++lane;
    }
  }
  At(options.start, [this, number] { StartJob(number); });
  return {};
}

void FlowModel::AddStreamGroup(QueuePair& requester, double load, uint64_t message) {
  Group& group = groups_.emplace_back();
  const topology::Fabric& fabric = simulation_->real_fabric();
  Exchange traffic;
  AddTransfer({.mtu = scenario_.network.nics.mtu,
               .ack_every = scenario_.network.nics.ack_every,
               .chunk = static_cast<uint32_t>(std::min<uint64_t>(message, UINT32_MAX))},
              message, traffic);
  traffic.WithoutGrants();
  group.message_bytes = traffic.WireBytes();
  group.load = load;
  group.senders.push_back(
      {.queue_pair = &requester, .traffic = traffic, .path = {}, .way_back = {}});
  const topology::PortIndex port = fabric.nic(requester.nic().number()).port;
  group.line_rate = static_cast<double>(fabric.link(fabric.port(port).link).bits_per_second) / 8;
}

// The state that nvidia-smi shows, as in the packet model (sim/run/gpu_readings.cc).
void FlowModel::PrepareGpus() {
  const topology::Fabric& fabric = simulation_->real_fabric();
  constexpr uint64_t kMemory = 81'559ull << 20;
  constexpr uint64_t kMemoryOfJob = 62ull << 30;
  constexpr uint64_t kMemoryOfDriver = 512ull << 20;
  std::vector<bool> used(fabric.gpus().size());
  for (const JobState& job : jobs_) {
    const auto& gpus = job.job->options().gpus;
    for (size_t rank = 0; rank < gpus.size(); ++rank) {
      used[gpus[rank]] = true;
      builder_->AddGpuBusy(gpus[rank], job.busy_series, job.ranks[rank].speed);
    }
  }
  for (topology::GpuIndex gpu = 0; gpu < fabric.gpus().size(); ++gpu) {
    builder_->SetGpu(gpu, Metric::kMemoryTotal, 0, kMemory);
    builder_->SetGpu(gpu, Metric::kMemoryFree, 0,
                     kMemory - kMemoryOfDriver - (used[gpu] ? kMemoryOfJob : 0));
    gpu_is_used_ = used;
    SetGpuState(gpu, 1);
  }
}

void FlowModel::SetGpuState(topology::GpuIndex gpu, double slowdown) {
  constexpr double kBoostClock = 1980e6;
  constexpr double kMinClock = 210e6;
  constexpr uint64_t kIdleClock = 345'000'000;
  constexpr uint64_t kIdle = 32;  // degrees Celsius
  constexpr uint64_t kBusy = 58;
  constexpr uint64_t kThrottling = 87;
  constexpr uint64_t kSpread = 4;
  const bool is_used = gpu_is_used_[gpu];
  builder_->SetGpu(
      gpu, Metric::kGpuClock, now_,
      is_used ? static_cast<uint64_t>(std::max(kMinClock, kBoostClock / slowdown)) : kIdleClock);
  builder_->SetGpu(gpu, Metric::kTemperature, now_,
                   slowdown > 1 ? kThrottling : (is_used ? kBusy : kIdle) + gpu % kSpread);
}

void FlowModel::Push(SimTime time, EventKind kind, uint32_t index, uint64_t version) {
  events_.push({.time = time, .order = order_++, .kind = kind, .index = index, .version = version});
}

void FlowModel::At(SimTime time, std::function<void()> action) {
  Push(time, EventKind::kAction, static_cast<uint32_t>(actions_.size()));
  actions_.push_back(std::move(action));
}

void FlowModel::Run(const Progress& progress) {
  SimTime next_progress = 0;
  while (!events_.empty() && events_.top().time <= scenario_.duration) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    ++event_count_;
    if (progress && now_ >= next_progress) {
      progress(now_);
      next_progress = now_ + scenario_.duration / kProgressSteps;
    }
    switch (event.kind) {
      case EventKind::kGroupBegins:
        BeginGroup(event.index);
        break;
      case EventKind::kGroupEnds:
        if (groups_[event.index].version == event.version) Finish(event.index);
        break;
      case EventKind::kLaneEnds:
        if (lanes_[event.index].version == event.version) EndLane(event.index);
        break;
      case EventKind::kAction:
        std::exchange(actions_[event.index], nullptr)();
        break;
    }
  }
  now_ = scenario_.duration;
  for (Lane& lane : lanes_) EndSeries(lane);
  while (!open_outages_.empty()) EndOutage(open_outages_.begin()->first);
  for (topology::PortIndex port = 0; port < ports_.size(); ++port) SetCongestion(port, 0, 0, 0, 0);
  history_ = builder_->Finish(scenario_.duration);
}

void FlowModel::StartJob(uint32_t job) {
  for (uint32_t rank = 0; rank < jobs_[job].ranks.size(); ++rank) Compute(job, rank, now_);
}

// From `now` on, the rank computes and then joins the collective of its phase.
void FlowModel::Compute(uint32_t job, uint32_t rank, SimTime now) {
  JobState& state = jobs_[job];
  const JobOptions& options = state.job->options();
  Rank& one = state.ranks[rank];
  JobRecord& record = job_records_[job];
  while (!state.ended) {
    if (one.phase == 0 && one.iteration >= record.iterations.size()) {
      record.iterations.push_back({.begin = now, .end = kNever});
      state.finished.push_back(0);
    }
    const double spread = std::max(0.0, 1 + options.jitter * Normal(state.random));
    const double mean = static_cast<double>(options.phases[one.phase].compute);
    const SimTime time = static_cast<SimTime>(mean * one.slowdown * one.speed * spread);
    if (rank == 0 && time > 0) {
      Series& busy = builder_->series(state.busy_series);
      busy.Add(now, state.busy_seconds);
      state.busy_seconds += mean / kSecond;
      busy.Add(now + time, state.busy_seconds);
    }
    now += time;
    const uint32_t index = state.group_of[one.phase][rank];
    if (index == topology::kNone) {  // the rank does not take part
      if (++one.phase == options.phases.size()) {
        one.phase = 0;
        if (++state.finished[one.iteration] == state.ranks.size()) {
          record.iterations[one.iteration].end = now;
        }
        if (++one.iteration == options.iterations) return;
      }
      continue;
    }
    Group& group = groups_[index];
    group.ready = std::max(group.ready, now);
    if (--group.waiting == 0) Push(group.ready, EventKind::kGroupBegins, index);
    return;
  }
}

void FlowModel::BeginGroup(uint32_t index) {
  Group& group = groups_[index];
  JobState& job = jobs_[group.job];
  if (job.ended) return;
  group.waiting = static_cast<uint32_t>(group.members.size());
  group.ready = 0;
  group.slowdown = 1;
  for (const uint32_t rank : group.members) {
    group.slowdown = std::max(group.slowdown, job.ranks[rank].slowdown * job.ranks[rank].speed);
  }
  if (group.lanes.empty()) {  // all ranks are on one host
    group.is_active = true;
    Push(now_ + group.cost->Duration(group.line_rate, group.slowdown), EventKind::kGroupEnds, index,
         ++group.version);
    return;
  }
  group.added = SampleLosses(index);
  SetActive(index, true);
}

// Starts or stops all flows of a group.
void FlowModel::SetActive(uint32_t index, bool on) {
  Group& group = groups_[index];
  group.is_active = on;
  group.open_lanes = static_cast<uint32_t>(group.lanes.size());
  std::vector<uint32_t> components;
  for (const uint32_t number : group.lanes) {
    Lane& lane = lanes_[number];
    if (!on) Advance(lane);
    lane.is_active = on;
    lane.updated = now_;
    lane.per_second = 0;
    lane.rate = -1;
    lane.version = ++versions_;
    if (on) {
      lane.base = lane.done;
      builder_->series(lane.series).Add(now_, lane.done - lane.series_base);
    }
    components_[lane.component].active[lane.place] = on;
    components.push_back(lane.component);
  }
  std::sort(components.begin(), components.end());
  components.erase(std::unique(components.begin(), components.end()), components.end());
  for (const uint32_t component : components) Resolve(component);
}

void FlowModel::EndLane(uint32_t number) {
  Lane& lane = lanes_[number];
  lane.is_active = false;
  lane.version = ++versions_;
  lane.done = lane.base + 1;
  lane.updated = now_;
  lane.per_second = 0;
  builder_->series(lane.series).Add(now_, lane.done - lane.series_base);
  components_[lane.component].active[lane.place] = false;
  const uint32_t group = lane.group;
  Resolve(lane.component);
  if (--groups_[group].open_lanes == 0) Finish(group);
}

void FlowModel::Finish(uint32_t index) {
  Group& group = groups_[index];
  group.is_active = false;
  ++group.version;
  for (const uint32_t rank : group.members) NextPhase(group.job, rank);
}

void FlowModel::NextPhase(uint32_t job, uint32_t rank) {
  JobState& state = jobs_[job];
  const JobOptions& options = state.job->options();
  Rank& one = state.ranks[rank];
  if (++one.phase == options.phases.size()) {
    one.phase = 0;
    if (++state.finished[one.iteration] == state.ranks.size()) {
      job_records_[job].iterations[one.iteration].end = now_;
    }
    if (++one.iteration == options.iterations) return;
  }
  Compute(job, rank, now_);
}

// Brings the progress up to date.
void FlowModel::Advance(Lane& lane) {
  if (!lane.is_active) return;
  lane.done += lane.per_second * static_cast<double>(now_ - lane.updated) / kSecond;
  if (groups_[lane.group].job != topology::kNone) lane.done = std::min(lane.done, lane.base + 1);
  lane.updated = now_;
  builder_->series(lane.series).Add(now_, lane.done - lane.series_base);
}

// Determines the rates of the lanes of a component, whose active lanes have changed.
void FlowModel::Resolve(uint32_t index) {
  Component& component = components_[index];
  constexpr size_t kMostSolutions = 20'000;
  if (component.solutions.size() >= kMostSolutions) component.solutions.clear();
  const auto [at, is_new] = component.solutions.try_emplace(component.active);
  if (is_new) {
    ++solution_count_;
    std::vector<bool> full;
    at->second.rates = FairRates(component.links, component.limits, component.active, &full);
    for (uint32_t link = 0; link < full.size(); ++link) {
      if (full[link]) at->second.full.push_back(link);
    }
  }
  const Component::Solution& solution = at->second;
  for (uint32_t i = 0; i < component.lanes.size(); ++i) {
    if (component.active[i]) SetRate(component.lanes[i], solution.rates[i]);
  }
  if (!component.links.empty()) UpdateCongestion(component, solution.full);
}

void FlowModel::SetRate(uint32_t number, double rate) {
  Lane& lane = lanes_[number];
  if (lane.rate == rate) return;
  const Group& group = groups_[lane.group];
  Advance(lane);
  lane.rate = rate;
  lane.version = ++versions_;
  if (group.job == topology::kNone) {
    lane.per_second = rate / group.message_bytes;
    return;
  }
  if (rate <= 0) {
    lane.per_second = 0;
    // The queue pairs give up after their retries.
    const NicOptions& nics = scenario_.network.nics;
    const auto timeout =
        static_cast<SimTime>(static_cast<double>(nics.ack_timeout) * scenario_.time_scale);
    lane.penalty_until = now_ + timeout;
    LoseCut(number);
    const uint64_t version = lane.version;
    const uint32_t job = group.job;
    At(now_ + timeout * (nics.retries + 1), [this, number, version, job] {
      if (number < lanes_.size() && lanes_[number].version == version) FailJob(job);
    });
    return;
  }
  const double left = std::max(0.0, lane.base + 1 - lane.done);
  const auto whole = static_cast<double>(group.cost->Duration(rate, group.slowdown) + group.added +
                                         group.more_latency);
  const SimTime remaining =
      static_cast<SimTime>(left * whole) + std::max<SimTime>(0, lane.penalty_until - now_);
  lane.per_second = left * kSecond / static_cast<double>(std::max<SimTime>(1, remaining));
  Push(now_ + remaining, EventKind::kLaneEnds, number, lane.version);
}

// A queue pair is in the error state: the job hangs until it is killed, which NCCL's users do.
void FlowModel::FailJob(uint32_t number) {
  JobState& job = jobs_[number];
  if (job.ended) return;
  job.ended = true;
  job_records_[number].failed = now_;
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    if (groups_[index].job != number || !groups_[index].is_active) continue;
    ++groups_[index].version;
    SetActive(index, false);
  }
}

}  // namespace rocescope::sim

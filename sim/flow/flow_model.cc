// SPDX-License-Identifier: BSD-3-Clause
// Jobs and the progress of their traffic.
#include "sim/flow/flow_model.h"

#include <algorithm>
#include <utility>

#include "sim/run/gpu_values.h"

namespace rocescope::sim {
namespace {

constexpr int kProgressSteps = 200;
constexpr double kForever = 4e6;  // seconds; longer than any run

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

}  // namespace

FlowModel::~FlowModel() = default;

void FlowModel::Push(SimTime time, EventKind kind, uint32_t index, uint64_t version) {
  events_.push({.time = time, .order = order_++, .kind = kind, .index = index, .version = version});
}

void FlowModel::At(SimTime time, std::function<void()> action) {
  if (free_actions_.empty()) {
    free_actions_.push_back(static_cast<uint32_t>(actions_.size()));
    actions_.emplace_back();
  }
  const uint32_t index = free_actions_.back();
  free_actions_.pop_back();
  actions_[index] = std::move(action);
  Push(time, EventKind::kAction, index);
}

void FlowModel::Run(const Progress& progress, SimTime until) {
  end_ = std::min(scenario_.duration, until);
  SimTime next_progress = 0;
  while (!events_.empty() && events_.top().time <= end_) {
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
      case EventKind::kAction: {
        const auto action = std::exchange(actions_[event.index], nullptr);
        free_actions_.push_back(event.index);
        action();
        break;
      }
    }
  }
  now_ = end_;
  for (const Group& group : groups_) {
    for (const uint32_t lane : group.lanes) {
      Advance(lanes_[lane]);
      Record(lanes_[lane]);
    }
  }
  for (const auto& [place, begin] : outages_) {
    // An outage that lasts until the end of the run includes its last moment.
    builder_->AddOutage(place.first, place.second, begin, kNever);
  }
  for (topology::PortIndex port = 0; port < ports_.size(); ++port) SetRates(port, {});
  for (uint32_t fault = 0; fault < fault_records_.size(); ++fault) {
    if (fault_records_[fault].retransmitted.empty()) NoteRetransmitted(fault);
  }
  for (const topology::Nic& nic : fabric().nics()) {
    if (fabric().port(nic.port).link == topology::kNone) continue;
    frames_sent_ += builder_->ValueAt(nic.port, Metric::kTxPackets, end_);
  }
  CountLosses();
  AddFecCounts();
  history_ = builder_->Finish(end_);
}

std::vector<ExactCounters::Entity> FlowModel::Entities() const {
  std::vector<ExactCounters::Entity> entities;
  for (const FlowHistory::Entity& entity : builder_->entities()) {
    entities.push_back({.entity = entity.id, .node = entity.node, .metrics = entity.metrics});
  }
  return entities;
}

std::vector<uint64_t> FlowModel::RetransmittedNow() const {
  std::vector<uint64_t> frames(scenario_.jobs.size());
  for (size_t job = 0; job < job_records_.size(); ++job) {
    frames[simulation_->ScenarioJobOf(job)] += job_records_[job].retransmitted;
  }
  return frames;
}

Outcome FlowModel::TakeOutcome() {
  Outcome outcome;
  for (JobRecord& job : job_records_) {
    outcome.starts.push_back({.iterations = std::move(job.iterations),
                              .breaks = std::move(job.breaks),
                              .stopped = job.stopped});
  }
  for (std::vector<PathRecord>& records : std::exchange(path_records_, {})) {
    std::vector<Recorder::Path>& paths = outcome.paths.emplace_back();
    for (PathRecord& record : records) {
      paths.push_back({.start = record.start,
                       .end = record.end,
                       .ports = std::move(record.ports),
                       .bytes = static_cast<uint64_t>(record.bytes)});
    }
  }
  for (const FaultRecord& fault : fault_records_) {
    outcome.faults.push_back({.options = fault.options,
                              .visible = fault.visible,
                              .affected = fault.affected,
                              .culprits = fault.culprits});
    outcome.retransmitted.push_back(fault.retransmitted);
  }
  uint64_t lost = 0;
  for (const auto& [cause, frames] : lost_) {
    if (frames > 0) outcome.frames.lost.emplace_back(cause, frames);
    lost += frames;
  }
  outcome.frames.sent = frames_sent_;
  outcome.frames.delivered = frames_sent_ - std::min(lost, frames_sent_);
  outcome.benign = std::move(benign_events_);
  return outcome;
}

void FlowModel::StartJob(uint32_t number) {
  JobState& job = jobs_[number];
  job.is_running = true;
  for (const topology::GpuIndex gpu : job.job->options().gpus) {
    ++gpu_users_[gpu];
    UpdateGpu(gpu);
  }
  SetPresent(job.groups, true);
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) Compute(number, rank, now_);
}

void FlowModel::StopJob(uint32_t number) {
  JobState& job = jobs_[number];
  if (!std::exchange(job.is_running, false)) return;
  if (!std::exchange(job.ended, true)) SetPresent(job.groups, false);
  for (const topology::GpuIndex gpu : job.job->options().gpus) {
    --gpu_users_[gpu];
    UpdateGpu(gpu);
  }
  job_records_[number].stopped = true;
  for (Job::Break& each : job_records_[number].breaks) each.end = std::min(each.end, now_);
}

// A queue pair is in the error state: the job hangs until it is stopped.
void FlowModel::FailJob(uint32_t number) {
  JobState& job = jobs_[number];
  if (std::exchange(job.ended, true)) return;
  job_records_[number].failed = now_;
  SetPresent(job.groups, false);
}

// From `now` on, the rank computes and then joins the collective of its phase.
void FlowModel::Compute(uint32_t number, uint32_t rank, SimTime now) {
  JobState& state = jobs_[number];
  const Job& job = *state.job;
  const JobOptions& options = job.options();
  Rank& one = state.ranks[rank];
  JobRecord& record = job_records_[number];
  while (!state.ended) {
    if (one.phase == 0 && one.iteration >= record.iterations.size()) {
      record.iterations.push_back({.begin = now, .end = kNever});
      state.finished.push_back(0);
    }
    if (one.phase >= options.phases.size()) BreakOf(number, one, now);
    const uint32_t group = state.group_of[one.phase][rank];
    if (one.phase == job.phases().size()) {
      Arrive(group, now);
      if (options.checkpoint.blocking) return;
    } else {
      const double spread = std::max(0.0, 1 + options.jitter * Normal(state.random));
      const auto mean =
          static_cast<double>(job.phases()[one.phase].compute) * SlowdownOf(number, rank);
      const auto time = static_cast<SimTime>(mean * spread);
      if (rank == 0 && time > 0) {
        Series& busy = builder_->series(state.busy_series);
        busy.Add(now, state.busy_seconds);
        state.busy_seconds += static_cast<double>(time) / kSecond;
        busy.Add(now + time, state.busy_seconds);
      }
      now += time;
      if (group != topology::kNone) {
        Arrive(group, now);
        return;
      }
    }
    if (!NextPhase(number, rank, now)) return;
    if (now > now_) {  // other events come first
      At(now, [this, number, rank] { Compute(number, rank, now_); });
      return;
    }
  }
}

double FlowModel::SlowdownOf(uint32_t number, uint32_t rank) const {
  const Job& job = *jobs_[number].job;
  const auto fault = state_.slowdown.find(job.options().gpus[rank]);
  return job.pace(rank) * (fault == state_.slowdown.end() ? 1 : fault->second);
}

bool FlowModel::NextPhase(uint32_t number, uint32_t rank, SimTime now) {
  JobState& state = jobs_[number];
  const Job& job = *state.job;
  const auto own = static_cast<uint32_t>(job.options().phases.size());
  const auto checkpoint = static_cast<uint32_t>(job.phases().size());
  Rank& one = state.ranks[rank];
  if (one.phase >= own && one.phase < checkpoint) {
    Job::Break& at = BreakOf(number, one, now);
    if (++at.done == job.BreakKindOf(one.phase).phases * state.ranks.size()) at.end = now;
  }
  if (++one.phase == own && ++state.finished[one.iteration] == state.ranks.size()) {
    job_records_[number].iterations[one.iteration].end = now;
  }
  while (one.phase <= checkpoint && !job.IsDue(one.phase, one.iteration)) ++one.phase;
  if (one.phase <= checkpoint) return true;
  one.phase = 0;
  if (++one.iteration != job.options().iterations) return true;
  if (++state.finished_ranks == state.ranks.size()) {
    At(now, [this, number] { StopJob(number); });
  }
  return false;
}

Job::Break& FlowModel::BreakOf(uint32_t number, const Rank& rank, SimTime now) {
  std::vector<Job::Break>& breaks = job_records_[number].breaks;
  const Job::BreakKind kind = jobs_[number].job->BreakKindOf(rank.phase);
  for (auto each = breaks.rbegin(); each != breaks.rend(); ++each) {
    if (each->iteration < rank.iteration) break;
    if (each->iteration == rank.iteration && each->name == kind.name &&
        each->checkpoint == kind.checkpoint) {
      each->begin = std::min(each->begin, now);
      return *each;
    }
  }
  return breaks.emplace_back(Job::Break{
      .name = kind.name, .checkpoint = kind.checkpoint, .iteration = rank.iteration, .begin = now});
}

void FlowModel::Arrive(uint32_t index, SimTime now) {
  Group& group = groups_[index];
  group.ready = std::max(group.ready, now);
  if (--group.waiting == 0) Push(group.ready, EventKind::kGroupBegins, index);
}

void FlowModel::BeginGroup(uint32_t index) {
  Group& group = groups_[index];
  if (jobs_[group.job].ended) return;
  group.waiting = static_cast<uint32_t>(group.members.size());
  group.ready = 0;
  if (group.is_active) {  // a checkpoint that has not finished
    ++group.queued;
    return;
  }
  group.slowdown = 1;
  for (const uint32_t rank : group.members) {
    group.slowdown = std::max(group.slowdown, SlowdownOf(group.job, rank));
  }
  if (group.senders.empty()) {  // all ranks are on one host
    group.is_active = true;
    Push(now_ + TimeOfRun(group, group.line_rate), EventKind::kGroupEnds, index, ++group.version);
    return;
  }
  group.added = SampleLosses(index);
  SetActive(index, true);
  SolveRates();
}

// Starts or stops all flows of a group. SolveRates must follow.
void FlowModel::SetActive(uint32_t index, bool on) {
  Group& group = groups_[index];
  group.is_active = on;
  group.open_lanes = on ? static_cast<uint32_t>(group.lanes.size()) : 0;
  for (const uint32_t number : group.lanes) {
    Lane& lane = lanes_[number];
    Advance(lane);
    lane.is_active = on;
    lane.done = 0;
    lane.updated = now_;
    lane.per_second = 0;
    lane.rate = -1;
    lane.version = ++versions_;
    builder_->series(lane.series).Add(now_, lane.total);
    Engage(number);
  }
}

// Lets the lane compete for links while it is active and its frames pass.
void FlowModel::Engage(uint32_t number) {
  const Lane& lane = lanes_[number];
  competition_->SetActive(lane.user, lane.is_active && !lane.is_cut);
  if (lane.is_active && lane.is_cut) SetRate(number, 0);
}

void FlowModel::EndLane(uint32_t number) {
  Lane& lane = lanes_[number];
  lane.is_active = false;
  lane.version = ++versions_;
  lane.total += 1 - lane.done;
  lane.done = 1;
  lane.updated = now_;
  lane.per_second = 0;
  builder_->series(lane.series).Add(now_, lane.total);
  Engage(number);
  if (--groups_[lane.group].open_lanes == 0) Finish(lane.group);
  SolveRates();
}

void FlowModel::Finish(uint32_t index) {
  Group& group = groups_[index];
  group.is_active = false;
  ++group.version;
  const uint32_t job = group.job;
  bool goes_on = true;
  if (group.kind == Group::Kind::kCheckpoint) {
    std::vector<Job::Break>& breaks = job_records_[job].breaks;
    const auto open = std::ranges::find_if(
        breaks, [](const Job::Break& each) { return each.checkpoint && each.end == kNever; });
    if (open != breaks.end()) open->end = now_;
    goes_on = jobs_[job].job->options().checkpoint.blocking;
    if (group.queued > 0) {
      --group.queued;
      Push(now_, EventKind::kGroupBegins, index);
    }
  }
  if (!goes_on) return;
  for (const uint32_t rank : std::vector<uint32_t>(group.members)) {
    if (NextPhase(job, rank, now_)) Compute(job, rank, now_);
  }
}

// Brings the progress up to date.
void FlowModel::Advance(Lane& lane) {
  if (!lane.is_active || now_ <= lane.updated) return;
  double more = lane.per_second * static_cast<double>(now_ - lane.updated) / kSecond;
  if (groups_[lane.group].kind != Group::Kind::kStream) more = std::min(more, 1 - lane.done);
  lane.done += more;
  lane.total += more;
  lane.updated = now_;
  builder_->series(lane.series).Add(now_, lane.total);
}

void FlowModel::SolveRates() {
  const Competition::Changes& changes = competition_->Solve();
  for (const uint32_t user : changes.users) SetRate(lane_of_user_[user], competition_->rate(user));
  for (const topology::PortIndex port : changes.links) UpdateCongestion(port);
}

SimTime FlowModel::TimeOfRun(const Group& group, double rate) const {
  const SimTime sending =
      group.cost != nullptr
          ? group.cost->Duration(rate, group.slowdown)
          : static_cast<SimTime>(std::min(kForever, group.wire_bytes / rate) * kSecond) +
                group.latency;
  return sending + group.added + group.more_latency;
}

void FlowModel::SetRate(uint32_t number, double rate) {
  Lane& lane = lanes_[number];
  if (lane.rate == rate) return;
  const Group& group = groups_[lane.group];
  Advance(lane);
  lane.rate = rate;
  lane.version = ++versions_;
  if (group.kind == Group::Kind::kStream) {
    lane.per_second = rate / group.wire_bytes;
    return;
  }
  if (rate <= 0) {
    lane.per_second = 0;
    // The queue pairs give up after their retries.
    lane.penalty_until = now_ + AckTimeout();
    LoseCut(number);
    const uint64_t version = lane.version;
    const uint32_t job = group.job;
    At(now_ + AckTimeout() * (scenario_.network.nics.retries + 1), [this, number, version, job] {
      if (lanes_[number].version == version) FailJob(job);
    });
    return;
  }
  const double left = std::max(0.0, 1 - lane.done);
  const SimTime remaining =
      static_cast<SimTime>(left * static_cast<double>(TimeOfRun(group, rate))) +
      std::max<SimTime>(0, lane.penalty_until - now_);
  lane.per_second = left * kSecond / static_cast<double>(std::max<SimTime>(1, remaining));
  Push(now_ + remaining, EventKind::kLaneEnds, number, lane.version);
}

// The state that nvidia-smi shows, as in the packet model (sim/run/gpu_readings.cc).
void FlowModel::UpdateGpu(topology::GpuIndex index) {
  const auto users = gpu_users_.find(index);
  const bool is_used = users != gpu_users_.end() && users->second > 0;
  const auto fault = state_.slowdown.find(index);
  const double slowdown = fault == state_.slowdown.end() ? 1 : fault->second;
  const double pace = scenario_.benign.gpu_clock_spread > 0
                          ? GpuPace(scenario_.seed, index, scenario_.benign.gpu_clock_spread)
                          : 1;
  constexpr uint64_t kWarmth = gpu::kBusy - 6;  // at the usual utilisation of a job
  builder_->SetGpu(index, Metric::kGpuClock, now_,
                   is_used ? gpu::ClockAt(slowdown * pace) : gpu::kIdleClock);
  builder_->SetGpu(index, Metric::kTemperature, now_,
                   is_used && slowdown > 1
                       ? gpu::kThrottling
                       : (is_used ? kWarmth : gpu::kIdle) + index % gpu::kSpread);
  builder_->SetGpu(index, Metric::kMemoryFree, now_, gpu::FreeMemory(is_used));
}

}  // namespace rocescope::sim

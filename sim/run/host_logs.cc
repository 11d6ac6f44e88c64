// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/host_logs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "sim/emit/host_files.h"
#include "sim/run/outcome.h"
#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

// First process id of a job on a host; each GPU has the next one.
constexpr uint32_t kFirstProcess = 40'000;
constexpr uint32_t kFirstBenchmark = 90'000;

Timestamp WallTime(const Scenario& scenario, SimTime time) {
  return scenario.epoch + Duration(time / kNanosecond * scenario.dilation);
}

// When the job had finished all of its iterations.
std::optional<SimTime> CompletedAt(const JobOptions& options, const Outcome::JobStart& start) {
  if (options.iterations == 0 || start.iterations.size() < options.iterations) return std::nullopt;
  SimTime end = start.iterations.back().end;
  if (!start.breaks.empty()) end = std::max(end, start.breaks.back().end);
  if (end == kNever) return std::nullopt;
  return end;
}

// The state at the end of the run, from the job's last start. A job whose scenario has an `end`
// stops there at its time limit.
void SetState(const Scenario& scenario, const JobOptions& options, const Outcome::JobStart& start,
              LoggedJob& logged) {
  logged.state = LoggedState::kRunning;  // an earlier start may have ended
  logged.completed.reset();
  if (options.start >= scenario.duration) {
    logged.state = LoggedState::kPending;
    return;
  }
  const bool is_last = options.incarnation == options.restarts.size();
  if (is_last && options.end != kNever) {
    logged.time_limit = WallTime(scenario, options.end) - logged.start;
    if (options.end <= scenario.duration) logged.state = LoggedState::kTimeout;
  }
  if (const auto completed = CompletedAt(options, start)) {
    logged.state = LoggedState::kCompleted;
    logged.completed = WallTime(scenario, *completed);
  }
}

// Creates one communicator for each group of a phase. The group of all ranks uses the job's
// communicator; other groups are splits of it or, before NCCL 2.18, independent communicators.
LoggedJob Describe(const Simulation& simulation, const Job& job, bool splits) {
  const JobOptions& options = job.options();
  const topology::Fabric& fabric = simulation.fabric();
  LoggedJob logged = {.id = options.id,
                      .name = options.name,
                      .start = WallTime(simulation.scenario(), options.start),
                      .mtu = simulation.scenario().network.nics.mtu};
  std::map<topology::NodeIndex, uint32_t> devices;  // number of GPUs of the job on each host
  for (const topology::GpuIndex index : options.gpus) {
    const topology::Gpu& gpu = fabric.gpu(index);
    logged.ranks.push_back({.gpu = index,
                            .process_id = ProcessOf(job, gpu.number),
                            .cuda_device = devices[gpu.host]++,
                            .nvml_device = gpu.number});
  }
  uint64_t seed = HashCombine(simulation.scenario().seed, options.id);
  // Another hash than that of a split, which combines the seed with a small number too.
  if (options.incarnation > 0) seed = HashCombine(~seed, options.incarnation);
  std::vector<uint32_t> everyone(options.gpus.size());
  for (uint32_t rank = 0; rank < everyone.size(); ++rank) everyone[rank] = rank;
  logged.communicators.push_back({.id = Mix64(seed), .ranks = everyone});
  std::map<std::vector<uint32_t>, uint32_t> known = {{everyone, 0}};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_group;  // keyed by phase and group
  for (uint32_t phase = 0; phase < job.phases().size(); ++phase) {
    if (!job.phases()[phase].has_collective) continue;
    const auto& groups = job.phases()[phase].groups;
    if (groups.empty()) of_group[{phase, 0}] = 0;
    for (uint32_t group = 0; group < groups.size(); ++group) {
      const auto [at, fresh] =
          known.try_emplace(groups[group], static_cast<uint32_t>(logged.communicators.size()));
      of_group[{phase, group}] = at->second;
      if (!fresh) continue;
      LoggedCommunicator communicator = {.id = Mix64(HashCombine(seed, at->second)),
                                         .ranks = groups[group],
                                         .color = static_cast<int>(group)};
      if (splits) communicator.parent = 0;
      logged.communicators.push_back(std::move(communicator));
    }
  }
  for (const Job::Channel& channel : job.channels()) {
    const uint32_t number = of_group.at({channel.phase, channel.group});
    const std::vector<uint32_t>& ranks = logged.communicators[number].ranks;
    const auto place = [&](uint32_t rank) {
      return static_cast<uint32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    LoggedConnection connection = {.communicator = number,
                                   .from = place(channel.from),
                                   .to = place(channel.to),
                                   .sender = job.NicOf(channel.from),
                                   .receiver = job.NicOf(channel.to),
                                   .fifo_rkey = channel.fifo_rkey};
    for (const QueuePair* sender : channel.senders) {
      connection.queue_pairs.push_back(
          {.sender = sender->identity().qpn, .receiver = sender->peer().identity().qpn});
    }
    logged.connections.push_back(std::move(connection));
  }
  return logged;
}

}  // namespace

uint32_t ProcessOf(const Job& job, uint32_t gpu_number) {
  constexpr uint32_t kGpusOfAHost = 16;
  return kFirstProcess + static_cast<uint32_t>(job.options().id) * 100 + gpu_number +
         job.options().incarnation * kGpusOfAHost;
}

Status WriteHostLogs(Simulation& simulation, const Outcome& outcome, const std::string& directory) {
  const Scenario& scenario = simulation.scenario();
  const TelemetryOptions& on = scenario.telemetry;
  HostFilesOptions options = {.rdma = on.rdma, .slurm = on.slurm, .rdma_time = scenario.epoch};
  if (!on.nccl_version.empty()) {
    const auto release = FindNcclRelease(on.nccl_version);
    if (!release) return tl::unexpected(release.error());
    options.nccl = *release;
    if (!on.nccl_queue_pairs) options.nccl_content = NcclLogContent::kChannels;
  }
  constexpr int kFirstWithSplits = 18;
  const bool splits = options.nccl && options.nccl->minor >= kFirstWithSplits;
  std::vector<LoggedJob> jobs;
  std::map<SimTime, std::vector<LoggedJob>> restarted;  // keyed by time
  std::set<uint32_t> of_jobs;                           // queue pairs of jobs
  std::set<uint32_t> of_storage;
  for (size_t i = 0; i < simulation.jobs().size(); ++i) {
    const auto& job = simulation.jobs()[i];
    const JobOptions& own = job->options();
    if (own.incarnation == 0) {
      jobs.push_back(Describe(simulation, *job, splits));
      SetState(scenario, own, outcome.starts[i], jobs.back());
    } else if (own.start < scenario.duration) {
      restarted[own.start].push_back(Describe(simulation, *job, splits));
      SetState(scenario, own, outcome.starts[i], *std::ranges::find(jobs, own.id, &LoggedJob::id));
    }
    for (const auto& checkpoint : job->checkpoints()) {
      of_storage.insert(checkpoint->connection().first->identity().number);
      of_storage.insert(checkpoint->connection().second->identity().number);
    }
    for (const Job::Channel& channel : job->channels()) {
      for (const QueuePair* sender : channel.senders) {
        of_jobs.insert(sender->identity().number);
        of_jobs.insert(sender->peer().identity().number);
      }
    }
  }
  std::vector<LoggedQueuePair> others;
  Network& network = simulation.network();
  for (uint32_t i = 0; i < network.queue_pair_count(); ++i) {
    const QueuePair& one = network.queue_pair(i);
    if (of_jobs.contains(i) || one.identity().foreign) continue;
    others.push_back({.nic = one.nic().number(),
                      .local = one.identity().qpn,
                      .remote = one.peer().identity().qpn,
                      .process_id = kFirstBenchmark + i,
                      .command = of_storage.contains(i) ? "storage" : "ib_write_bw"});
  }
  Status written = WriteHostFiles(directory, simulation.fabric(), jobs, others, options);
  // The scheduler does not notice a restart within a job, such as that of torchrun: the job keeps
  // its nodes and its start time. `rdma` runs again after it.
  options.slurm = false;
  for (auto at = restarted.begin(); written && at != restarted.end(); ++at) {
    options.rdma_time = scenario.epoch + Duration(at->first / kNanosecond * scenario.dilation);
    written = WriteHostFiles(directory, simulation.fabric(), at->second, others, options);
  }
  return written;
}

}  // namespace rocescope::sim

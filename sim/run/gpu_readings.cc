// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/gpu_readings.h"

#include <algorithm>
#include <array>

#include "sim/run/gpu_values.h"

namespace rocescope::sim {
GpuReadings::GpuReadings(Network& network, const std::vector<std::unique_ptr<Job>>& jobs,
                         std::span<const MaintenanceOptions> maintenance, CounterLog& log,
                         uint32_t recording_steps)
    : network_(network),
      maintenance_(maintenance),
      log_(log),
      recording_steps_(recording_steps),
      gpus_(network.fabric().gpus().size()),
      times_(std::max(1u, recording_steps)) {
  for (const auto& job : jobs) {
    const std::vector<topology::GpuIndex>& used = job->options().gpus;
    for (uint32_t rank = 0; rank < used.size(); ++rank) {
      gpus_[used[rank]].users.push_back({.job = job.get(), .rank = rank});
    }
  }
  for (Gpu& gpu : gpus_) gpu.computed.resize(times_.size());
  log_.AlsoRead([this] { Read(); });
}

void GpuReadings::Read() {
  for (topology::GpuIndex index = 0; index < gpus_.size(); ++index) Read(index);
  times_[next_] = network_.engine().Now();
  next_ = (next_ + 1) % times_.size();
}

bool GpuReadings::IsRebooting(topology::NodeIndex host) const {
  const SimTime now = network_.engine().Now();
  return std::ranges::any_of(maintenance_, [&](const MaintenanceOptions& work) {
    const SimTime down = work.start + work.drain;
    return work.kind == MaintenanceKind::kHostReboot && work.node == host && now >= down &&
           now < down + work.duration;
  });
}

// A job that starts again has no processes until then. Its first start has them from the beginning.
const GpuReadings::User* GpuReadings::UserOf(const Gpu& gpu) const {
  const SimTime now = network_.engine().Now();
  for (const User& user : gpu.users) {
    const JobOptions& job = user.job->options();
    if (now < job.end && (job.incarnation == 0 || now >= job.start)) return &user;
  }
  return nullptr;
}

void GpuReadings::Read(topology::GpuIndex index) {
  Gpu& own = gpus_[index];
  const topology::Gpu& of = network_.fabric().gpu(index);
  const SimTime since = network_.engine().Now() - times_[next_];
  uint64_t percent = 0;
  uint64_t clock = gpu::kIdleClock;
  double slowdown = 1;
  const User* const user = UserOf(own);
  if (user != nullptr) {
    slowdown = std::max(1.0, user->job->slowdown(user->rank));
    clock = gpu::ClockAt(slowdown * user->job->pace(user->rank));
  }
  SimTime computed = 0;
  for (const User& each : own.users) computed += each.job->ComputedFor(each.rank);
  if (since > 0) percent = static_cast<uint64_t>((computed - own.computed[next_]) * 100 / since);
  own.computed[next_] = computed;
  const uint64_t warmth =
      gpu::kIdle + (gpu::kBusy - gpu::kIdle) * percent / 100 + index % gpu::kSpread;
  const uint64_t utilisation = recording_steps_ == 0 ? percent
                                                     : static_cast<uint64_t>(own.computed[next_]) *
                                                           log_.options().clock.dilation;
  constexpr std::array kMetricsOfGpu = {Metric::kGpuUtilisation, Metric::kGpuClock,
                                        Metric::kMemoryTotal, Metric::kMemoryFree,
                                        Metric::kTemperature};
  const std::array<uint64_t, kMetricsOfGpu.size()> values = {
      utilisation, clock, gpu::kMemory, gpu::FreeMemory(user != nullptr),
      slowdown > 1 ? gpu::kThrottling : warmth};
  if (own.number == UINT32_MAX) {
    own.number = log_.sink().Announce({.kind = EntityKind::kGpu,
                                       .index = of.number,
                                       .node = network_.fabric().node(of.host).name},
                                      kMetricsOfGpu);
  }
  if (IsRebooting(of.host)) return;
  log_.sink().Append(own.number, log_.Now(), log_.Now(), values);
}

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/gpu_readings.h"

#include <algorithm>

namespace rocescope::sim {
namespace {

// An H100 SXM with 80 GB: values from its data sheet and nvidia-smi.
constexpr uint64_t kMemory = 81'559ull << 20;
constexpr uint64_t kMemoryOfJob = 62ull << 30;
constexpr uint64_t kMemoryOfDriver = 512ull << 20;
constexpr double kBoostClock = 1980e6;
constexpr double kMinClock = 210e6;
constexpr uint64_t kIdleClock = 345'000'000;
// Degrees Celsius. A slow GPU is most often throttled thermally: it is at its temperature limit,
// and its clock drops in proportion to the longer compute time.
constexpr uint64_t kIdle = 32;
constexpr uint64_t kBusy = 64;
constexpr uint64_t kThrottling = 87;
constexpr uint64_t kSpread = 4;  // GPUs differ by their position in the air flow

}  // namespace

GpuReadings::GpuReadings(Network& network, const std::vector<std::unique_ptr<Job>>& jobs,
                         CounterLog& log)
    : network_(network), log_(log), gpus_(network.fabric().gpus().size()) {
  for (const auto& job : jobs) {
    const std::vector<topology::GpuIndex>& used = job->options().gpus;
    for (uint32_t rank = 0; rank < used.size(); ++rank) {
      gpus_[used[rank]].users.push_back({.job = job.get(), .rank = rank});
    }
  }
}

void GpuReadings::Start() {
  for (topology::GpuIndex index = 0; index < gpus_.size(); ++index) Read(index);
  last_ = network_.engine().Now();
  network_.engine().At(last_ + log_.options().period, next_);
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
  Gpu& gpu = gpus_[index];
  const topology::Gpu& of = network_.fabric().gpu(index);
  const SimTime since = network_.engine().Now() - last_;
  uint64_t percent = 0;
  uint64_t clock = kIdleClock;
  double slowdown = 1;
  const User* const user = UserOf(gpu);
  if (user != nullptr) {
    slowdown = std::max(1.0, user->job->slowdown(user->rank));
    clock = static_cast<uint64_t>(
        std::max(kMinClock, kBoostClock / (slowdown * user->job->pace(user->rank))));
  }
  SimTime computed = 0;
  for (const User& each : gpu.users) computed += each.job->ComputedFor(each.rank);
  if (since > 0) percent = static_cast<uint64_t>((computed - gpu.computed) * 100 / since);
  gpu.computed = computed;
  const uint64_t warmth = kIdle + (kBusy - kIdle) * percent / 100 + index % kSpread;
  log_.Add({.entity = {.kind = EntityKind::kGpu,
                       .index = of.number,
                       .node = network_.fabric().node(of.host).name},
            .metrics = {{Metric::kGpuUtilisation, percent},
                        {Metric::kGpuClock, clock},
                        {Metric::kMemoryTotal, kMemory},
                        {Metric::kMemoryFree,
                         kMemory - kMemoryOfDriver - (user != nullptr ? kMemoryOfJob : 0)},
                        {Metric::kTemperature, slowdown > 1 ? kThrottling : warmth}}});
}

}  // namespace rocescope::sim

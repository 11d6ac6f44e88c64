// SPDX-License-Identifier: BSD-3-Clause
// Finds GPUs that compute more slowly than their peers, from their clocks or from the ranks that
// wait for them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analytics/collective/gpus_by_job.h"
#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"
#include "base/median.h"

namespace rocescope {
namespace {

using topology::GpuIndex;
using topology::kNone;
using topology::NicIndex;

struct Clock {
  GpuIndex gpu = kNone;
  Row hz;
  std::vector<bool> in_use;  // by window
};

// A GPU is in use if its memory is. Between two jobs, its clock is low.
std::vector<bool> WindowsInUse(const DiagnosisInput& input, const Entity& gpu) {
  const Row all = input.Levels(gpu, Metric::kMemoryTotal);
  const Row free = input.Levels(gpu, Metric::kMemoryFree);
  std::vector<bool> in_use(input.windows());
  for (size_t w = 0; w < std::min(all.size(), free.size()); ++w) {
    in_use[w] = static_cast<double>(free[w]) <
                input.thresholds().idle_memory_ratio * static_cast<double>(all[w]);
  }
  return in_use;
}

// Groups of GPUs that should have the same clock: the GPUs of a job; other GPUs, or those of very
// small jobs, are grouped by memory size, because each model has its own clocks.
std::vector<std::vector<Clock>> PeersOf(const DiagnosisInput& input) {
  const std::vector<std::vector<GpuIndex>> by_job =
      GpusByJob(input.fabric(), input.parts().attribution, input.parts().iteration_patterns);
  std::vector<bool> is_of_job(input.fabric().gpus().size());
  std::vector<std::vector<Clock>> groups;
  const auto clocks_of = [&](const std::vector<GpuIndex>& gpus) {
    std::vector<Clock> clocks;
    for (const GpuIndex gpu : gpus) {
      const Entity entity{.kind = EntityKind::kGpu, .index = gpu};
      Row hz = input.Levels(entity, Metric::kGpuClock);
      std::vector<bool> in_use = WindowsInUse(input, entity);
      // No GPU in use has so low a clock: the unit is wrong.
      constexpr uint64_t kLeastHz = 50'000'000;
      const bool is_plausible =
          std::ranges::none_of(hz, [](uint64_t value) { return value > 0 && value < kLeastHz; });
      if (!hz.empty() && is_plausible && std::ranges::find(in_use, true) != in_use.end()) {
        clocks.push_back({.gpu = gpu, .hz = std::move(hz), .in_use = std::move(in_use)});
      }
    }
    return clocks;
  };
  for (const std::vector<GpuIndex>& gpus : by_job) {
    std::vector<Clock> clocks = clocks_of(gpus);
    if (clocks.size() < input.thresholds().clock_peers) continue;
    for (const GpuIndex gpu : gpus) is_of_job[gpu] = true;
    groups.push_back(std::move(clocks));
  }
  std::map<uint64_t, std::vector<GpuIndex>> by_memory;
  for (GpuIndex gpu = 0; gpu < is_of_job.size(); ++gpu) {
    if (is_of_job[gpu]) continue;
    const Row memory = input.Levels({.kind = EntityKind::kGpu, .index = gpu}, Metric::kMemoryTotal);
    if (!memory.empty()) by_memory[memory.back()].push_back(gpu);
  }
  for (const auto& [memory, gpus] : by_memory) {
    std::vector<Clock> clocks = clocks_of(gpus);
    if (clocks.size() >= input.thresholds().clock_peers) groups.push_back(std::move(clocks));
  }
  return groups;
}

// The usual clock of the GPUs that are in use, by window; 0 if they are too few.
Row UsualClock(const DiagnosisInput& input, const std::vector<Clock>& peers) {
  Row usual(input.windows());
  std::vector<double> values;
  for (size_t w = 0; w < usual.size(); ++w) {
    values.clear();
    for (const Clock& clock : peers) {
      if (clock.in_use[w]) values.push_back(static_cast<double>(clock.hz[w]));
    }
    if (values.size() < input.thresholds().clock_peers) continue;
    usual[w] = static_cast<uint64_t>(UpperMedianOf(values));
  }
  return usual;
}

void DetectSlowClocks(const DiagnosisInput& input, const std::vector<Clock>& peers,
                      Findings& found) {
  const Row usual = UsualClock(input, peers);
  for (const auto& [gpu, hz, in_use] : peers) {
    const auto is_slow = [&](size_t w) {
      return in_use[w] && static_cast<double>(hz[w]) <
                              input.thresholds().slow_clock_ratio * static_cast<double>(usual[w]);
    };
    const uint32_t enough = input.thresholds().slow_clock_windows;
    size_t last = 0;
    size_t in_row = 0;
    std::optional<size_t> first;  // begin of the first row of windows that is long enough
    for (size_t w = 0; w < hz.size(); ++w) {
      in_row = is_slow(w) ? in_row + 1 : 0;
      if (in_row < enough) continue;
      if (!first) first = w + 1 - in_row;
      last = w;
    }
    if (!first) continue;
    Finding finding = {.kind = FaultKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .confidence = 0.95,
                       .from = input.BeginOf(*first),
                       .detected_at = input.EndOf(*first + enough - 1)};
    finding.until = input.Until(last);
    finding.evidence.push_back(fmt::format("its clock runs at {} MHz, those of its peers at {} MHz",
                                           hz[last] / 1'000'000, usual[last] / 1'000'000));
    const Row warmth = input.Levels({.kind = EntityKind::kGpu, .index = gpu}, Metric::kTemperature);
    if (!warmth.empty()) {
      finding.evidence.push_back(
          fmt::format("its temperature is {} degrees Celsius", warmth[last]));
    }
    found.push_back(std::move(finding));
  }
}

// The GPU behind the member's NIC; kNone if it is unknown.
GpuIndex GpuOf(const DiagnosisInput& input, const CollectiveMember& member) {
  const NicIndex nic =
      input.fabric().FindNic({.segment = member.segment, .address = member.address});
  return nic == kNone ? kNone : GpuNextTo(input.fabric(), nic);
}

// A GPU with a normal clock is late for another reason, so that GPUs with a known clock are left
// out.
void DetectWaiting(const DiagnosisInput& input, const std::set<GpuIndex>& told, Findings& found) {
  for (const JobIterationPattern& iteration_pattern : input.parts().iteration_patterns) {
    if (!iteration_pattern.straggler) continue;
    const Straggler& waited = *iteration_pattern.straggler;
    const GpuIndex gpu = GpuOf(input, iteration_pattern.members[waited.member]);
    if (gpu == kNone || told.contains(gpu)) continue;
    std::vector<GpuIndex> alternatives;
    for (const uint32_t member : waited.alternative) {
      const GpuIndex rival = GpuOf(input, iteration_pattern.members[member]);
      if (rival != kNone && rival != gpu && !told.contains(rival)) alternatives.push_back(rival);
    }
    // GPUs of a host wait for each other, so that all NICs of the host are late together.
    const double share = 0.8 * waited.confidence / static_cast<double>(1 + alternatives.size());
    Finding finding = {.kind = FaultKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .basis = Basis::kWaiting,
                       .confidence = share,
                       .from = waited.from,
                       .detected_at = waited.from + 2 * iteration_pattern.period};
    for (const GpuIndex rival : alternatives) {
      finding.alternatives.push_back({.kind = FaultKind::kStraggler,
                                      .place = {.kind = PlaceKind::kGpu, .index = rival},
                                      .probability = share});
    }
    if (waited.until + 3 * iteration_pattern.period < iteration_pattern.last)
      finding.until = waited.until;
    finding.affected_jobs.push_back(iteration_pattern.job);
    finding.evidence.push_back(
        fmt::format("it was the last to enter {} of {}, {:.0f} us after the others",
                    WithThousands(waited.iterations), Counted(waited.of, "iteration"),
                    static_cast<double>(waited.lateness.count()) / 1000));
    finding.further.push_back("GPU counters (DCGM or sFlow): clock, utilisation, temperature");
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectStragglers(const DiagnosisInput& input, Findings& found) {
  std::set<GpuIndex> told;
  for (const std::vector<Clock>& peers : PeersOf(input)) {
    DetectSlowClocks(input, peers, found);
    for (const Clock& clock : peers) told.insert(clock.gpu);
  }
  DetectWaiting(input, told, found);
}

TimeToDetection TimeToDetectStragglers(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.windows = thresholds.slow_clock_windows,
          .signs = fmt::format("a clock below {:.0f} % of that of its peers; without clocks, {} "
                               "iterations in which the other ranks wait for it",
                               100 * thresholds.slow_clock_ratio, Straggler::kLeastIterations)};
}

}  // namespace rocescope

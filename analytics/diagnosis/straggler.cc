// SPDX-License-Identifier: BSD-3-Clause
// GPUs that compute more slowly than their peers: by their own clocks, else by who waits for whom.
#include <fmt/format.h>

#include <map>
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

// In use: somebody's memory is on it.
bool IsInUse(const Scene& scene, const Entity& gpu) {
  const Row all = scene.Levels(gpu, Metric::kMemoryTotal);
  const Row free = scene.Levels(gpu, Metric::kMemoryFree);
  constexpr double kMostlyFree = 0.9;
  return !all.empty() && !free.empty() &&
         static_cast<double>(free.back()) < kMostlyFree * static_cast<double>(all.back());
}

struct Clock {
  GpuIndex gpu = kNone;
  Row hz;
};

constexpr size_t kFewest = 3;  // that have a usual clock

// Those that should run alike: of a job; and those of no known job, or of a very small one, that
// have as much memory, for a model has its own clocks.
std::vector<std::vector<Clock>> PeersOf(const Scene& scene) {
  const std::vector<std::vector<GpuIndex>> by_job =
      GpusByJob(scene.fabric(), scene.parts().attribution, scene.parts().iteration_patterns);
  std::vector<bool> is_of_job(scene.fabric().gpus().size());
  std::vector<std::vector<Clock>> groups;
  const auto clocks_of = [&](const std::vector<GpuIndex>& gpus) {
    std::vector<Clock> clocks;
    for (const GpuIndex gpu : gpus) {
      const Entity entity{.kind = EntityKind::kGpu, .index = gpu};
      Row hz = scene.Levels(entity, Metric::kGpuClock);
      if (!hz.empty() && IsInUse(scene, entity)) {
        clocks.push_back({.gpu = gpu, .hz = std::move(hz)});
      }
    }
    return clocks;
  };
  for (const std::vector<GpuIndex>& gpus : by_job) {
    std::vector<Clock> clocks = clocks_of(gpus);
    if (clocks.size() < kFewest) continue;
    for (const GpuIndex gpu : gpus) is_of_job[gpu] = true;
    groups.push_back(std::move(clocks));
  }
  std::map<uint64_t, std::vector<GpuIndex>> by_memory;
  for (GpuIndex gpu = 0; gpu < is_of_job.size(); ++gpu) {
    if (is_of_job[gpu]) continue;
    const Row memory = scene.Levels({.kind = EntityKind::kGpu, .index = gpu}, Metric::kMemoryTotal);
    if (!memory.empty()) by_memory[memory.back()].push_back(gpu);
  }
  for (const auto& [memory, gpus] : by_memory) {
    std::vector<Clock> clocks = clocks_of(gpus);
    if (clocks.size() >= kFewest) groups.push_back(std::move(clocks));
  }
  return groups;
}

void DetectSlowClocks(const Scene& scene, const std::vector<Clock>& peers, Findings& found) {
  constexpr double kSlow = 0.85;  // of the others: boost clocks of healthy GPUs differ by less
  Row usual;
  for (size_t w = 0; w < scene.windows(); ++w) {
    std::vector<double> values;
    for (const Clock& clock : peers) values.push_back(static_cast<double>(clock.hz[w]));
    usual.push_back(static_cast<uint64_t>(UpperMedianOf(values)));
  }
  for (const auto& [gpu, hz] : peers) {
    const auto is_slow = [&](size_t w) {
      return static_cast<double>(hz[w]) < kSlow * static_cast<double>(usual[w]);
    };
    size_t first = 0;
    while (first < hz.size() && !is_slow(first)) ++first;
    if (first == hz.size()) continue;
    size_t last = hz.size() - 1;
    while (!is_slow(last)) --last;
    Finding finding = {.kind = FindingKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .confidence = 0.95,
                       .from = scene.BeginOf(first),
                       .verdict = scene.EndOf(first)};
    finding.until = scene.Until(last);
    finding.evidence.push_back(fmt::format("its clock is at {} MHz, that of its peers at {} MHz",
                                           hz[first] / 1'000'000, usual[first] / 1'000'000));
    const Row warmth = scene.Levels({.kind = EntityKind::kGpu, .index = gpu}, Metric::kTemperature);
    if (!warmth.empty()) {
      finding.evidence.push_back(fmt::format("it is {} degrees Celsius warm", warmth[last]));
    }
    found.push_back(std::move(finding));
  }
}

// Behind the NIC of that member; kNone: the fabric does not know.
GpuIndex GpuOf(const Scene& scene, const CollectiveMember& member) {
  const NicIndex nic =
      scene.fabric().FindNic({.segment = member.segment, .address = member.address});
  return nic == kNone ? kNone : GpuNextTo(scene.fabric(), nic);
}

// A GPU whose clock is told is late for another reason, if it is not slow.
void DetectWaiting(const Scene& scene, const std::set<GpuIndex>& told, Findings& found) {
  for (const JobIterationPattern& iteration_pattern : scene.parts().iteration_patterns) {
    if (!iteration_pattern.straggler) continue;
    const Straggler& waited = *iteration_pattern.straggler;
    const GpuIndex gpu = GpuOf(scene, iteration_pattern.members[waited.member]);
    if (gpu == kNone || told.contains(gpu)) continue;
    std::vector<GpuIndex> alternatives;
    for (const uint32_t member : waited.alternative) {
      const GpuIndex rival = GpuOf(scene, iteration_pattern.members[member]);
      if (rival != kNone && rival != gpu && !told.contains(rival)) alternatives.push_back(rival);
    }
    // GPUs of a host wait for each other, and so all its NICs are late together.
    const double share = 0.8 * waited.confidence / static_cast<double>(1 + alternatives.size());
    Finding finding = {.kind = FindingKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .basis = Basis::kWaiting,
                       .confidence = share,
                       .from = waited.from,
                       .verdict = waited.from + 2 * iteration_pattern.period};
    for (const GpuIndex rival : alternatives) {
      finding.alternatives.push_back({.kind = FindingKind::kStraggler,
                                .place = {.kind = PlaceKind::kGpu, .index = rival},
                                .probability = share});
    }
    if (waited.until + 3 * iteration_pattern.period < iteration_pattern.last) finding.until = waited.until;
    finding.affected_jobs.push_back(iteration_pattern.job);
    finding.evidence.push_back(fmt::format(
        "it entered {} of {} last, {:.0f} us behind the others", WithThousands(waited.iterations),
        Counted(waited.of, "iteration"), static_cast<double>(waited.lateness.count()) / 1000));
    finding.further.push_back("GPU counters (DCGM or sFlow's): clock, utilisation, temperature");
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectStragglers(const Scene& scene, Findings& found) {
  std::set<GpuIndex> told;
  for (const std::vector<Clock>& peers : PeersOf(scene)) {
    DetectSlowClocks(scene, peers, found);
    for (const Clock& clock : peers) told.insert(clock.gpu);
  }
  DetectWaiting(scene, told, found);
}

}  // namespace rocescope

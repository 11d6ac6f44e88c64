// SPDX-License-Identifier: BSD-3-Clause
// GPUs that compute more slowly than their peers: by their own clocks, else by who waits for whom.
#include <fmt/format.h>

#include <vector>

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

bool DetectSlowClocks(const Scene& scene, Findings& found) {
  constexpr double kSlow = 0.85;  // of the others: boost clocks of healthy GPUs differ by less
  std::vector<std::pair<GpuIndex, Row>> clocks;
  for (GpuIndex gpu = 0; gpu < scene.fabric().gpus().size(); ++gpu) {
    const Entity entity{.kind = EntityKind::kGpu, .index = gpu};
    Row clock = scene.Levels(entity, Metric::kGpuClock);
    if (!clock.empty() && IsInUse(scene, entity)) clocks.emplace_back(gpu, std::move(clock));
  }
  if (clocks.size() < 3) return false;
  Row usual;
  for (size_t w = 0; w < scene.windows(); ++w) {
    std::vector<double> values;
    for (const auto& [gpu, clock] : clocks) values.push_back(static_cast<double>(clock[w]));
    usual.push_back(static_cast<uint64_t>(UpperMedianOf(values)));
  }
  for (const auto& [gpu, clock] : clocks) {
    const auto is_slow = [&](size_t w) {
      return static_cast<double>(clock[w]) < kSlow * static_cast<double>(usual[w]);
    };
    size_t first = 0;
    while (first < clock.size() && !is_slow(first)) ++first;
    if (first == clock.size()) continue;
    size_t last = clock.size() - 1;
    while (!is_slow(last)) --last;
    Finding finding = {.kind = FindingKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .confidence = 0.95,
                       .from = scene.BeginOf(first),
                       .verdict = scene.EndOf(first)};
    finding.until = scene.Until(last);
    finding.evidence.push_back(fmt::format("its clock is at {} MHz, that of its peers at {} MHz",
                                           clock[first] / 1'000'000, usual[first] / 1'000'000));
    const Row warmth = scene.Levels({.kind = EntityKind::kGpu, .index = gpu}, Metric::kTemperature);
    if (!warmth.empty()) {
      finding.evidence.push_back(fmt::format("it is {} degrees Celsius warm", warmth[last]));
    }
    found.push_back(std::move(finding));
  }
  return true;
}

GpuIndex GpuBehind(const topology::Fabric& fabric, NicIndex nic) {
  for (const GpuIndex gpu : fabric.GpusOf(fabric.nic(nic).host)) {
    if (fabric.gpu(gpu).nic == nic) return gpu;
  }
  for (const GpuIndex gpu : fabric.GpusOf(fabric.nic(nic).host)) {
    if (fabric.gpu(gpu).nic == kNone && fabric.gpu(gpu).rail == fabric.nic(nic).rail) return gpu;
  }
  return kNone;
}

// Behind the NIC of that member; kNone: the fabric does not know.
GpuIndex GpuOf(const Scene& scene, const CollectiveMember& member) {
  const NicIndex nic =
      scene.fabric().FindNic({.segment = member.segment, .address = member.address});
  return nic == kNone ? kNone : GpuBehind(scene.fabric(), nic);
}

void DetectWaiting(const Scene& scene, Findings& found) {
  for (const JobRhythm& rhythm : scene.parts().rhythms) {
    if (!rhythm.waited_for) continue;
    const WaitedFor& waited = *rhythm.waited_for;
    const GpuIndex gpu = GpuOf(scene, rhythm.members[waited.member]);
    if (gpu == kNone) continue;
    std::vector<GpuIndex> rivals;
    for (const uint32_t member : waited.or_else) {
      const GpuIndex rival = GpuOf(scene, rhythm.members[member]);
      if (rival != kNone && rival != gpu) rivals.push_back(rival);
    }
    // GPUs of a host wait for each other, and so all its NICs are late together.
    const double share = 0.8 * waited.confidence / static_cast<double>(1 + rivals.size());
    Finding finding = {.kind = FindingKind::kStraggler,
                       .place = {.kind = PlaceKind::kGpu, .index = gpu},
                       .basis = Basis::kWaiting,
                       .confidence = share,
                       .from = waited.from,
                       .verdict = waited.from + 2 * rhythm.period};
    for (const GpuIndex rival : rivals) {
      finding.rivals.push_back({.kind = FindingKind::kStraggler,
                                .place = {.kind = PlaceKind::kGpu, .index = rival},
                                .probability = share});
    }
    if (waited.until + 3 * rhythm.period < rhythm.last) finding.until = waited.until;
    finding.victims.push_back(rhythm.job);
    finding.evidence.push_back(fmt::format(
        "it entered {} of {} last, {:.0f} us behind the others", WithThousands(waited.iterations),
        Counted(waited.of, "iteration"), static_cast<double>(waited.lateness.count()) / 1000));
    finding.further.push_back("GPU counters (DCGM or sFlow's): clock, utilisation, temperature");
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectStragglers(const Scene& scene, Findings& found) {
  if (!DetectSlowClocks(scene, found)) DetectWaiting(scene, found);
}

}  // namespace rocescope

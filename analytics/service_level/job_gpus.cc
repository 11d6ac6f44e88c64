// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/job_gpus.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analytics/service_level/counter_values.h"
#include "analytics/service_level/window_share.h"
#include "base/median.h"

namespace rocescope {
namespace {

using topology::GpuIndex;
using topology::kNone;
using topology::NicIndex;

GpuIndex GpuOf(const topology::Fabric& fabric, const JobRank& rank) {
  const topology::NodeIndex host = fabric.FindNode(rank.host);
  if (host == kNone) return kNone;
  for (const GpuIndex gpu : fabric.GpusOf(host)) {
    const topology::Gpu& one = fabric.gpu(gpu);
    if (!rank.gpu_bus_id.empty() && one.pci == rank.gpu_bus_id) return gpu;
  }
  for (const GpuIndex gpu : fabric.GpusOf(host)) {
    if (rank.nvml_device >= 0 && std::cmp_equal(fabric.gpu(gpu).number, rank.nvml_device))
      return gpu;
  }
  return kNone;
}

GpuIndex GpuNextTo(const topology::Fabric& fabric, NicIndex nic) {
  const topology::Nic& near = fabric.nic(nic);
  for (const GpuIndex gpu : fabric.GpusOf(near.host)) {
    const topology::Gpu& one = fabric.gpu(gpu);
    if (one.nic == nic || (one.nic == kNone && one.rail == near.rail)) return gpu;
  }
  return kNone;
}

}  // namespace

std::vector<std::vector<GpuIndex>> GpusByJob(const topology::Fabric& fabric,
                                             const Attribution& attribution,
                                             const std::vector<JobRhythm>& rhythms) {
  std::vector<std::vector<GpuIndex>> by_job(attribution.jobs.size());
  std::vector<bool> taken(fabric.gpus().size());
  const auto take = [&](uint32_t job, GpuIndex gpu) {
    if (gpu == kNone || taken[gpu]) return;
    taken[gpu] = true;
    by_job[job].push_back(gpu);
  };
  for (uint32_t job = 0; job < by_job.size(); ++job) {
    for (const JobRank& rank : attribution.jobs[job].job.ranks) take(job, GpuOf(fabric, rank));
  }
  for (const JobRhythm& rhythm : rhythms) {
    if (!by_job[rhythm.job].empty()) continue;
    for (const CollectiveMember& member : rhythm.members) {
      const NicIndex nic = fabric.FindNic({.segment = member.segment, .address = member.address});
      if (nic != kNone) take(rhythm.job, GpuNextTo(fabric, nic));
    }
  }
  return by_job;
}

std::vector<std::vector<double>> UtilisationGaps(const MetricStore& metrics, size_t gpus,
                                                 const std::vector<std::vector<GpuIndex>>& by_job,
                                                 int64_t from, int64_t until) {
  constexpr size_t kFewest = 3;
  const auto windows = static_cast<size_t>(std::max<int64_t>(0, until - from));
  std::vector<std::vector<double>> gaps(
      gpus, std::vector<double>(windows, std::numeric_limits<double>::quiet_NaN()));
  for (const std::vector<GpuIndex>& of_job : by_job) {
    for (const GpuIndex gpu : of_job) {
      gaps[gpu] = CounterValues(metrics, {.kind = EntityKind::kGpu, .index = gpu},
                                ServiceIndicator::kGpuUtilisationGap, from, until);
    }
    for (size_t window = 0; window < windows; ++window) {
      std::vector<double> told;
      for (const GpuIndex gpu : of_job) {
        if (HasValue(gaps[gpu][window])) told.push_back(gaps[gpu][window]);
      }
      const bool enough = told.size() >= kFewest;
      const double middle = enough ? UpperMedianOf(told) : 0;
      for (const GpuIndex gpu : of_job) {
        double& value = gaps[gpu][window];
        value = enough ? std::abs(value - middle) : std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  return gaps;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/gpus_by_job.h"

#include <cstdint>
#include <utility>

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

}  // namespace

GpuIndex GpuNextTo(const topology::Fabric& fabric, NicIndex nic) {
  const topology::Nic& near = fabric.nic(nic);
  for (const GpuIndex gpu : fabric.GpusOf(near.host)) {
    if (fabric.gpu(gpu).nic == nic) return gpu;
  }
  for (const GpuIndex gpu : fabric.GpusOf(near.host)) {
    if (fabric.gpu(gpu).nic == kNone && fabric.gpu(gpu).rail == near.rail) return gpu;
  }
  return kNone;
}

std::vector<std::vector<GpuIndex>> GpusByJob(
    const topology::Fabric& fabric, const Attribution& attribution,
    const std::vector<JobIterationPattern>& iteration_patterns) {
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
  for (const JobIterationPattern& iteration_pattern : iteration_patterns) {
    if (!by_job[iteration_pattern.job].empty()) continue;
    for (const CollectiveMember& member : iteration_pattern.members) {
      const NicIndex nic = fabric.FindNic({.segment = member.segment, .address = member.address});
      if (nic != kNone) take(iteration_pattern.job, GpuNextTo(fabric, nic));
    }
  }
  return by_job;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Refuses what would take too much time or memory, and jobs on the same GPUs at the same time.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/scenario/loader.h"

namespace rocescope::sim {
namespace {

// Iterations of a job. The flow model estimates its work better before a run (sim/flow).
constexpr SimTime kMostPacketIterations = 100'000;
constexpr SimTime kMostFlowIterations = 5'000'000;
constexpr double kMostBrokenFrames = 10e6;     // by bit errors, in the whole fabric
constexpr double kMostFrameErrorsOfRun = 1e6;  // by frame_errors, in the whole fabric
constexpr double kMostBurstSenders = 200'000;  // each burst has connections of its own

}  // namespace

// What starts after the run has no effect.
void Loader::CheckRunTimes(const YamlMap& map, const JobOptions& job) {
  if (job.start >= scenario_.duration) {
    errors_.Add(*map.Find("start"),
                fmt::format("the job {} starts after the run: start must be before the scenario's "
                            "duration",
                            job.name));
  }
  const auto late = std::ranges::find_if(job.restarts, [&](const JobOptions::Restart& restart) {
    return restart.at >= scenario_.duration;
  });
  if (late == job.restarts.end()) return;
  errors_.Add(*map.Find("restarts"),
              fmt::format("the job {} restarts after the run: at must be before the scenario's "
                          "duration",
                          job.name));
}

// Concurrent faults may share a place, but not the kind: the second one would have no defined
// effect.
void Loader::CheckRepeated(const YamlNode& node, const FaultOptions& fault) {
  if (!errors_.empty()) return;  // the place may be unknown
  const auto place = [](const FaultOptions& of) {
    return std::tuple(of.kind, of.link, of.sender, of.swapped, of.node, of.nic, of.gpu);
  };
  // A recurring fault keeps its place between its occurrences.
  const auto end = [](const FaultOptions& of) { return of.every > 0 ? kNever : EndOf(of); };
  for (const FaultOptions& other : scenario_.faults) {
    if (place(other) != place(fault) || end(other) <= fault.onset || end(fault) <= other.onset) {
      continue;
    }
    errors_.Add(node, fmt::format("two faults of kind {} are active at the same place and time: "
                                  "remove one, or set the duration of the first so that it ends "
                                  "before the onset of the second",
                                  InfoOf(fault.kind).name));
    return;
  }
}

void Loader::CheckOverlap(const YamlNode& node, const MaintenanceOptions& work) {
  if (!errors_.empty()) return;  // the place may be unknown
  const auto end = [](const MaintenanceOptions& of) { return of.start + of.drain + of.duration; };
  for (const MaintenanceOptions& other : scenario_.maintenance) {
    if (other.kind != work.kind || other.link != work.link || other.node != work.node ||
        end(other) <= work.start || end(work) <= other.start) {
      continue;
    }
    errors_.Add(node,
                "two maintenance tasks of the same place overlap: start the second one after "
                "the start, drain and duration of the first");
    return;
  }
}

void Loader::CheckGpus(const YamlNode& node, const JobOptions& job) {
  const std::set<topology::GpuIndex> own(job.gpus.begin(), job.gpus.end());
  for (const JobOptions& other : scenario_.jobs) {
    if (job.start >= other.end || other.start >= job.end) continue;
    const auto shared =
        std::ranges::find_if(other.gpus, [&](topology::GpuIndex gpu) { return own.contains(gpu); });
    if (shared == other.gpus.end()) continue;
    const topology::Gpu& gpu = scenario_.fabric->gpu(*shared);
    errors_.Add(
        node, fmt::format("the jobs {} and {} use GPU {}:{} at the same time: use other hosts, or "
                          "set the end of the first job before the start of the second",
                          other.name, job.name, scenario_.fabric->node(gpu.host).name, gpu.number));
  }
}

// A lower bound: without latencies, each rank of a collective sends at least half of its buffer.
SimTime Loader::ShortestIteration(const JobOptions& job) const {
  double seconds = 0;
  for (const JobOptions::Phase& phase : job.phases) {
    seconds += static_cast<double>(phase.compute) / kSecond;
    if (!phase.has_collective || job.gpus.empty()) continue;
    const auto host_of = [&](uint32_t rank) { return scenario_.fabric->gpu(job.gpus[rank]).host; };
    bool leaves_hosts = phase.groups.empty();
    for (const std::vector<uint32_t>& group : phase.groups) {
      leaves_hosts |= std::ranges::any_of(
          group, [&](uint32_t rank) { return host_of(rank) != host_of(group[0]); });
    }
    const topology::NicIndex nic = scenario_.fabric->gpu(job.gpus[0]).nic;
    double rate = job.local_rate;
    if (leaves_hosts && nic != topology::kNone && IsPlugged(nic)) {
      const topology::PortIndex port = scenario_.fabric->nic(nic).port;
      rate = static_cast<double>(
          scenario_.fabric->link(scenario_.fabric->port(port).link).bits_per_second);
    }
    seconds += static_cast<double>(phase.collective.bytes) / 2 * 8 / rate;
  }
  constexpr double kLongest = 1e6;  // seconds
  return std::max(kShortestPeriod,
                  static_cast<SimTime>(std::min(seconds, kLongest) * static_cast<double>(kSecond)));
}

void Loader::CheckIterations(const YamlNode& node, const JobOptions& job) {
  const bool is_flow = scenario_.model == Model::kFlow;
  // The packet model refuses longer runs.
  if (!is_flow && scenario_.duration > kLongestPacketRun) return;
  const SimTime most = is_flow ? kMostFlowIterations : kMostPacketIterations;
  const SimTime lasts = std::min(job.end, scenario_.duration) - job.start;
  SimTime iterations = lasts / ShortestIteration(job);
  if (job.iterations > 0) iterations = std::min<SimTime>(iterations, job.iterations);
  if (iterations <= most) return;
  errors_.Add(node, fmt::format("the job {} would run up to {} iterations of {} us, but at most {} "
                                "are simulated: lengthen its phases (compute or size), or limit it "
                                "by iterations or end",
                                job.name, iterations, ShortestIteration(job) / kMicrosecond, most));
}

void Loader::CheckLinkErrors(const YamlMap& map) {
  const BenignOptions& benign = scenario_.benign;
  double bits_per_second = 0;
  double ports = 0;
  for (const topology::Link& link : scenario_.fabric->links()) {
    bits_per_second += 2 * static_cast<double>(link.bits_per_second);
    ports += 2;
  }
  const double seconds = static_cast<double>(scenario_.duration) / kSecond;
  const double bits = benign.pre_fec_bit_error_ratio.on() ? kBitErrorsOfUncorrected : 1;
  const double broken = benign.bit_error_ratio.most * bits_per_second * seconds / bits;
  if (broken > kMostBrokenFrames) {
    errors_.Add(*map.Find("bit_error_ratio"),
                fmt::format("bit_error_ratio would cause up to {:.3g} errors in the run, but at "
                            "most {:.0f} are simulated: lower it, or shorten duration",
                            broken, kMostBrokenFrames));
  }
  const double frames = benign.frame_errors.ports * ports * benign.frame_errors.frames;
  if (frames > kMostFrameErrorsOfRun) {
    errors_.Add(*map.Find("frame_errors"),
                fmt::format("frame_errors would break {:.0f} frames in the run, but at most {:.0f} "
                            "are simulated: lower ports or frames",
                            frames, kMostFrameErrorsOfRun));
  }
}

void Loader::CheckMicrobursts(const YamlNode& node) {
  const BenignOptions::Microbursts& bursts = scenario_.benign.microbursts;
  const double senders =
      std::min<double>(bursts.senders, static_cast<double>(scenario_.fabric->nics().size()));
  const double all = senders * static_cast<double>(scenario_.duration / bursts.period);
  if (all <= kMostBurstSenders) return;
  errors_.Add(
      node,
      fmt::format("microbursts would need {:.0f} connections, one for each sender of "
                  "each burst, but at most {:.0f} are simulated: use a longer period, or fewer "
                  "senders",
                  all, kMostBurstSenders));
}

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "sim/draw/scale.h"

namespace rocescope::sim {
namespace {

using std::chrono::nanoseconds;
using topology::Shape;

constexpr uint64_t kMaxJobs = 6;
// Beyond this, the steps of a ring take longer than its data transfer.
constexpr uint32_t kMaxJobHosts = 32;
constexpr uint32_t kMaxAllToAll = 32;  // ranks; the number of connections grows quadratically
constexpr double kBytesPerMicrosecond = 12'500;  // 100 Gb/s host link of the packet model
// Latency of a transfer that depends on another: propagation, four switches and a clear-to-send.
constexpr SimTime kStep = 6 * kMicrosecond;

struct Pattern {
  std::string_view name;
  uint32_t least_hosts;
};
// "expert": the all-to-all of a mixture of experts, then a ring. "parallel": tensor-, pipeline- and
// data-parallel groups, each with its own communicator.
constexpr Pattern kPatterns[] = {{"ring", 2},     {"tree", 2},   {"all_to_all", 2}, {"halving", 2},
                                 {"pipeline", 3}, {"expert", 2}, {"parallel", 4}};

// Upper bound of the cost of a phase per rank: bytes sent per byte of its buffer, and the number of
// dependent steps.
struct Cost {
  double bytes;
  uint32_t steps;
};
Cost CostOf(CollectiveKind kind, uint32_t ranks) {
  const double n = ranks;
  const auto log = static_cast<uint32_t>(std::bit_width(ranks - 1));
  const CollectiveOptions defaults;
  switch (kind) {
    case CollectiveKind::kRing:
      return {2 * (n - 1) / n, 2 * (ranks - 1)};
    case CollectiveKind::kTree:
      return {2, 2 * log + defaults.chunks};
    case CollectiveKind::kAllToAll:
      return {(n - 1) / n, ranks / defaults.at_once + 1};
    case CollectiveKind::kHalvingDoubling:
      return {2 * (n - 1) / n, 2 * log};
    case CollectiveKind::kPipeline: {
      // The last microbatch arrives n-2 transfers after the time that the data transfer alone
      // takes.
      const double m = defaults.microbatches;
      return {2 * (m + n - 2) / m, 2 * (defaults.microbatches + ranks)};
    }
  }
  return {1, 1};
}

class JobDrawer {
 public:
  JobDrawer(const Outline& outline, Outline::Job& job, RandomSource& dice)
      : scale_(ScaleOf(outline.model)),
        bytes_per_microsecond_(static_cast<double>(outline.fabric.host_bits_per_second) / 8e6),
        job_(job),
        dice_(dice) {}

  void Draw() {
    const auto hosts = static_cast<uint32_t>(job_.hosts.size());
    // The data transfer on an idle link is two thirds of the target duty cycle; the rest is waiting
    // time.
    wire_ = static_cast<SimTime>(dice_.LogUniform(scale_.transfer.least, scale_.transfer.most) *
                                 kMicrosecond);
    const double duty = dice_.Uniform(scale_.duty.least, scale_.duty.most);
    std::vector<std::string_view> fits;
    for (const Pattern& pattern : kPatterns) {
      const bool power = std::has_single_bit(hosts);
      const bool divides = hosts % 2 == 0;
      if (hosts < pattern.least_hosts || (pattern.name == "halving" && !power) ||
          (pattern.name == "parallel" && !divides)) {
        continue;
      }
      fits.push_back(pattern.name);
    }
    const std::string_view pattern = dice_.Pick(fits);
    if (pattern == "parallel") {
      DrawParallel(hosts);
    } else if (pattern == "expert") {
      Add("ep", CollectiveKind::kAllToAll, 0.5, true, hosts);
      Add("dp", CollectiveKind::kRing, 0.5, true, hosts);
    } else if (pattern == "halving") {
      Add("dp", CollectiveKind::kHalvingDoubling, 1, true, hosts);
    } else {
      const CollectiveKind kind = ParseCollectiveKind(pattern).value();
      // A collective over all ranks: the data of a host leaves through few of its NICs.
      const uint32_t all = hosts * job_.gpus;
      const bool rails = kind == CollectiveKind::kPipeline || all > kMaxAllToAll ||
                         job_.gpus == 1 || dice_.Chance(0.5);
      Add(kind == CollectiveKind::kPipeline ? "pp" : "dp", kind, 1, rails, rails ? hosts : all);
    }
    const auto compute = static_cast<SimTime>(static_cast<double>(wire_) * 1.5 * (1 / duty - 1));
    const auto phases = static_cast<SimTime>(job_.phases.size());
    for (Outline::Phase& phase : job_.phases) {
      phase.compute = compute / phases / kMicrosecond * kMicrosecond;
      job_.period += phase.compute;
    }
    job_.period += 2 * wire_ + waiting_;
  }

 private:
  void Add(std::string name, CollectiveKind kind, double share, bool rails, uint32_t ranks) {
    const Cost cost = CostOf(kind, ranks);
    const double bytes = static_cast<double>(wire_) / kMicrosecond * bytes_per_microsecond_ * share;
    constexpr double kGrain = 4096;
    job_.phases.push_back(
        {.name = std::move(name),
         .collective = kind,
         .bytes = static_cast<uint64_t>(std::ceil(bytes / cost.bytes / kGrain) * kGrain),
         .rails = rails});
    waiting_ += cost.steps * kStep;
  }

  // Stages are blocks of hosts, and replicas have the same position in each block. Every GPU of a
  // host belongs to its own pipeline and data-parallel group.
  void DrawParallel(uint32_t hosts) {
    const uint32_t stages = hosts % 4 == 0 && hosts > 4 && dice_.Chance(0.5) ? 4 : 2;
    const uint32_t replicas = hosts / stages;
    const auto rank = [&](uint32_t stage, uint32_t replica, uint32_t gpu) {
      return (stage * replicas + replica) * job_.gpus + gpu;
    };
    if (job_.gpus > 1) {  // the tensor-parallel group stays within the host
      Add("tp", CollectiveKind::kRing, 0.1, false, job_.gpus);
      for (uint32_t host = 0; host < hosts; ++host) {
        auto& group = job_.phases.back().groups.emplace_back();
        for (uint32_t gpu = 0; gpu < job_.gpus; ++gpu) group.push_back(host * job_.gpus + gpu);
      }
    }
    Add("pp", CollectiveKind::kPipeline, 0.4, false, stages);
    for (uint32_t replica = 0; replica < replicas; ++replica) {
      for (uint32_t gpu = 0; gpu < job_.gpus; ++gpu) {
        auto& group = job_.phases.back().groups.emplace_back();
        for (uint32_t stage = 0; stage < stages; ++stage) {
          group.push_back(rank(stage, replica, gpu));
        }
      }
    }
    const auto kind = dice_.Chance(0.5) ? CollectiveKind::kRing : CollectiveKind::kTree;
    Add("dp", kind, 0.6, false, replicas);
    for (uint32_t stage = 0; stage < stages; ++stage) {
      for (uint32_t gpu = 0; gpu < job_.gpus; ++gpu) {
        auto& group = job_.phases.back().groups.emplace_back();
        for (uint32_t replica = 0; replica < replicas; ++replica) {
          group.push_back(rank(stage, replica, gpu));
        }
      }
    }
  }

  const Scale& scale_;
  const double bytes_per_microsecond_;
  Outline::Job& job_;
  RandomSource& dice_;
  SimTime wire_ = 0;     // data transfer time of an iteration on an idle link
  SimTime waiting_ = 0;  // time that ranks wait for each other
};

// Allocates hosts to jobs: contiguously, or interleaved as a busy scheduler does. Some hosts stay
// idle.
std::vector<std::vector<uint32_t>> Allocate(uint32_t hosts, bool interleaved, RandomSource& dice) {
  const uint64_t idle = dice.Between(1, std::max(1u, hosts / 4));
  const uint64_t busy = hosts - idle;
  const uint64_t fewest = (busy + kMaxJobHosts - 1) / kMaxJobHosts;
  std::vector<uint64_t> sizes(dice.Between(fewest, std::min(kMaxJobs, busy / 2)), 2);
  for (uint64_t left = busy - 2 * sizes.size(); left > 0; --left) {
    uint64_t& size = sizes[dice.Between(0, sizes.size() - 1)];
    if (size < kMaxJobHosts) ++size;
  }
  std::vector<uint32_t> owner;  // by host; the number of jobs means idle
  for (uint32_t job = 0; job < sizes.size(); ++job) owner.insert(owner.end(), sizes[job], job);
  owner.resize(hosts, static_cast<uint32_t>(sizes.size()));
  if (interleaved) dice.Shuffle(owner);
  std::vector<std::vector<uint32_t>> of(sizes.size());
  for (uint32_t host = 0; host < hosts; ++host) {
    if (owner[host] < sizes.size()) of[owner[host]].push_back(host);
  }
  return of;
}

// Two or three hosts send to one NIC, together more than its link can carry.
void DrawCongestion(uint32_t hosts, uint32_t nics, uint32_t to_host, uint32_t to_nic,
                    RandomSource& dice, Outline& outline) {
  Outline::Stream stream;
  stream.to_host = to_host;
  stream.to_nic = to_nic;
  const uint64_t senders = dice.Between(2, 3);
  const uint64_t first = dice.Between(1, hosts - senders);
  for (uint64_t i = 0; i < senders; ++i) {
    stream.from_host = static_cast<uint32_t>((stream.to_host + first + i) % hosts);
    stream.from_nic = static_cast<uint32_t>(dice.Between(0, nics - 1));
    stream.load = dice.Uniform(0.6, 0.9);
    stream.message = uint64_t{1} << dice.Between(17, 20);
    outline.streams.push_back(stream);
  }
}

void DrawStream(uint32_t hosts, uint32_t nics, RandomSource& dice, Outline& outline) {
  Outline::Stream stream;
  stream.from_host = static_cast<uint32_t>(dice.Between(0, hosts - 1));
  stream.to_host = static_cast<uint32_t>((stream.from_host + dice.Between(1, hosts - 1)) % hosts);
  stream.from_nic = stream.to_nic = static_cast<uint32_t>(dice.Between(0, nics - 1));
  stream.verb = dice.Pick(std::vector<Verb>{Verb::kWrite, Verb::kSend, Verb::kRead});
  stream.message = uint64_t{1} << dice.Between(16, 20);
  stream.load = dice.LogUniform(0.02, 0.2);
  outline.streams.push_back(stream);
}

// Senders without congestion control and switches that pause early. With the default alpha, the
// buffers of such a small fabric would absorb the traffic.
void DrawFullBuffers(uint32_t hosts, RandomSource& dice, Outline& outline) {
  outline.alpha = 1.0 / 32;
  Outline::Job job = {.name = "job1", .gpus = 1};
  for (uint32_t host = 0; host < hosts; ++host) job.hosts.push_back(host);
  job.queue_pairs = static_cast<uint32_t>(dice.Between(1, 4));
  constexpr uint64_t kGrain = 4096;
  const uint64_t bytes = dice.Between(3u << 20, 5u << 20) / kGrain * kGrain;
  job.phases.push_back({.name = "ep",
                        .collective = CollectiveKind::kAllToAll,
                        .bytes = bytes,
                        .compute = dice.Time(300 * kMicrosecond, 500 * kMicrosecond)});
  // Twice the transfer time on an idle link, because leaves have half as many uplinks as downlinks.
  job.period =
      job.phases[0].compute +
      2 * static_cast<SimTime>(static_cast<double>(bytes) / kBytesPerMicrosecond) * kMicrosecond;
  outline.jobs.push_back(std::move(job));
}

// Jobs that start or end during the run. The hosts of a job that ended become free.
class LifeDrawer {
 public:
  LifeDrawer(RandomSource& dice, Outline& outline)
      : scale_(ScaleOf(outline.model)), dice_(dice), outline_(outline) {}

  void Draw() {
    const size_t count = outline_.jobs.size();
    for (size_t i = 0; i < count; ++i) {
      Outline::Job& job = outline_.jobs[i];
      job.start = dice_.Chance(0.4) ? Part(0.02, 0.4) : Part(0, 0.005);
      if (dice_.Chance(0.5)) continue;
      job.end = job.start + Part(0.2, 0.6);
      const SimTime next = job.end + Part(0.005, 0.05);
      if (next >= outline_.duration * 8 / 10 || !dice_.Chance(0.7)) continue;
      AddNext(job, next);
    }
  }

 private:
  SimTime Part(double least, double most) {
    const double part = dice_.Uniform(least, most) * static_cast<double>(outline_.duration);
    return RoundDown(static_cast<SimTime>(part), scale_);
  }

  // A job on the hosts, or on half of the hosts, of one that ended.
  void AddNext(const Outline::Job& last, SimTime start) {
    Outline::Job job;
    job.name = fmt::format("job{}", outline_.jobs.size() + 1);
    job.hosts = last.hosts;
    if (job.hosts.size() >= 4 && dice_.Chance(0.5)) job.hosts.resize(job.hosts.size() / 2);
    job.gpus = last.gpus;
    job.queue_pairs = last.queue_pairs;
    job.start = start;
    JobDrawer(outline_, job, dice_).Draw();
    outline_.jobs.push_back(std::move(job));
  }

  const Scale& scale_;
  RandomSource& dice_;
  Outline& outline_;
};

}  // namespace

topology::Blueprint DrawNarrowFabric(RandomSource& dice) {
  topology::Blueprint plan;
  plan.host_delay = plan.fabric_delay = nanoseconds(dice.Chance(0.5) ? 500 : 1000);
  plan.leaves = static_cast<uint32_t>(dice.Between(4, 6));
  plan.spines = 2;
  plan.hosts = 4 * plan.leaves;
  return plan;
}

topology::Blueprint DrawFabric(RandomSource& dice) {
  topology::Blueprint plan;
  plan.host_delay = plan.fabric_delay = nanoseconds(dice.Chance(0.5) ? 500 : 1000);
  const uint64_t shape = dice.Between(0, 2);
  if (shape == 2) {
    plan.shape = Shape::kFatTree;
    plan.k = 8;
    plan.nics_per_host = dice.Pick(std::vector<uint32_t>{1, 2, 4});
    plan.rail_optimised = plan.nics_per_host > 1 && dice.Chance(0.5);
    return plan;
  }
  const bool large = dice.Chance(0.5);
  plan.rail_optimised = shape == 1;
  plan.nics_per_host = 8;
  plan.hosts = large ? 16 : 8;
  // Rail-optimised: two groups, so that traffic within a rail also crosses the spines. Otherwise
  // two hosts to a rack.
  plan.leaves = plan.rail_optimised ? 2 * plan.nics_per_host : plan.hosts / 2;
  // Full or half bisection bandwidth; host links are as fast as fabric links.
  const uint32_t down = plan.hosts * plan.nics_per_host / plan.leaves;
  plan.spines = dice.Chance(0.5) ? down : down / 2;
  return plan;
}

topology::Blueprint DrawLargeFabric(RandomSource& dice) {
  topology::Blueprint plan;
  plan.host_delay = plan.fabric_delay = nanoseconds(500);
  plan.host_bits_per_second = plan.fabric_bits_per_second =
      dice.Pick(std::vector<uint64_t>{100'000'000'000, 200'000'000'000, 400'000'000'000});
  const uint64_t shape = dice.Between(0, 2);
  if (shape == 2) {
    plan.shape = Shape::kFatTree;
    const bool large = dice.Chance(0.5);
    plan.k = large ? 12 : 8;
    plan.nics_per_host = large ? 4 : dice.Pick(std::vector<uint32_t>{1, 2, 4});
    plan.rail_optimised =
        plan.nics_per_host > 1 && plan.k / 2 % plan.nics_per_host == 0 && dice.Chance(0.5);
    return plan;
  }
  plan.rail_optimised = shape == 1;
  plan.nics_per_host = 8;
  plan.hosts = 8u << dice.Between(0, 3);
  const uint32_t hosts_in_rack = plan.hosts > 16 ? 4 : 2;
  plan.leaves = plan.rail_optimised ? 2 * plan.nics_per_host : plan.hosts / hosts_in_rack;
  const uint32_t down = plan.hosts * plan.nics_per_host / plan.leaves;
  plan.spines = dice.Chance(0.5) ? down : down / 2;
  return plan;
}

void DrawWorkload(const topology::Fabric& fabric, const WorkloadNeeds& needs, RandomSource& dice,
                  Outline& outline) {
  const Scale& scale = ScaleOf(outline.model);
  outline.jobs.clear();
  outline.streams.clear();
  const uint32_t nics = outline.fabric.nics_per_host;
  const auto hosts = static_cast<uint32_t>(fabric.nics().size() / nics);
  const bool interleaved = dice.Chance(0.5);
  if (needs.full_buffers) DrawFullBuffers(hosts, dice, outline);
  SimTime longest = needs.full_buffers ? outline.jobs[0].period : 0;
  std::vector<std::vector<uint32_t>> allocation;
  if (!needs.full_buffers) allocation = Allocate(hosts, interleaved, dice);
  for (std::vector<uint32_t>& of : allocation) {
    Outline::Job job;
    job.name = fmt::format("job{}", outline.jobs.size() + 1);
    job.hosts = std::move(of);
    job.gpus = nics > 2 && dice.Chance(0.2) ? nics / 2 : nics;
    job.queue_pairs = static_cast<uint32_t>(dice.Between(needs.least_queue_pairs, 4));
    job.split_data = job.queue_pairs > 1 && dice.Chance(0.3);
    job.start = dice.Time(0, 200 * kMicrosecond);
    JobDrawer(outline, job, dice).Draw();
    longest = std::max(longest, job.period);
    outline.jobs.push_back(std::move(job));
  }
  if (scale.jobs_end) {
    constexpr SimTime kMinute = 60 * kSecond;
    if (outline.duration == 0) {
      outline.duration = static_cast<SimTime>(dice.Between(60, 360)) * kMinute;
    }
    LifeDrawer(dice, outline).Draw();
  }
  if (needs.congestion || dice.Chance(scale.overload_chance)) {
    const Outline::Job& job = dice.Pick(outline.jobs);
    DrawCongestion(hosts, nics, dice.Pick(job.hosts),
                   static_cast<uint32_t>(dice.Between(0, job.gpus - 1)), dice, outline);
  }
  if (needs.both_ways) {
    const Outline::Stream first = outline.streams.front();
    DrawCongestion(hosts, nics, first.from_host, first.from_nic, dice, outline);
  }
  for (uint64_t i = dice.Between(0, 2); i > 0; --i) DrawStream(hosts, nics, dice, outline);
  constexpr SimTime kRounding = 500 * kMicrosecond;
  if (outline.duration == 0) {
    outline.duration = (longest * (kIterations + 2) / kRounding + 1) * kRounding;
  }
  const char* const placed = interleaved ? " on interleaved hosts" : " on adjacent hosts";
  outline.about = fmt::format("{} on {} GPUs{}, {} job{}", fabric.name(), fabric.gpus().size(),
                              outline.fabric.rail_optimised ? " (rail-optimised)" : "",
                              outline.jobs.size(), outline.jobs.size() == 1 ? "" : "s");
  if (outline.jobs.size() > 1) outline.about += placed;
}

}  // namespace rocescope::sim

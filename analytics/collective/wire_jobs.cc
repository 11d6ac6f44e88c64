// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/wire_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "analytics/connection/disjoint_sets.h"
#include "base/median.h"

namespace rocescope {
namespace {

constexpr double kMinStrength = 0.3;  // minimum strength of a seed's own period
constexpr double kInStep = 0.3;       // minimum strength of a neighbour at the seed's period
constexpr double kNicInStep = 0.5;    // minimum strength of everything that its NIC sends
constexpr double kAlike = 0.04;       // maximum difference between periods of parts of a job
// Messages use the queue pairs of a stripe in turn, so each is used only every few iterations.
constexpr int kMaxTimes = 4;
constexpr double kSameHosts = 0.9;  // minimum share of either job's hosts in the other
// Maximum difference between periods of parts slowed down by congestion.
constexpr double kHurt = 0.3;
constexpr double kByIterationPattern = 0.98;
constexpr double kByConnection = 0.7;
// Units of work: comparing a channel with a period costs one, searching for a period several. Real
// jobs need a few units per channel. Channels with random periods would need quadratic work, so it
// is limited.
constexpr uint64_t kWorkPerChannel = 3;
constexpr uint64_t kWorkAtLeast = 50'000;
constexpr uint64_t kPeriodWork = 8;

class InferredJobFinder {
 public:
  InferredJobFinder(const Channels& channels, const std::vector<bool>& taken, const TimeLine& line)
      : channels_(channels),
        length_(line.length),
        width_(line.width),
        open_(channels.all.size()),
        work_left_(kWorkPerChannel * channels.all.size() + kWorkAtLeast) {
    result_.job_of.assign(channels.all.size(), kNoJob);
    at_host_.resize(channels.hosts);
    for (uint32_t i = 0; i < channels.all.size(); ++i) {
      open_[i] = !taken[i];
      for (const uint32_t host : HostsOf(i)) at_host_[host].push_back(i);
    }
  }

  WireJobs Find() {
    std::vector<uint32_t> seeds(channels_.all.size());
    std::iota(seeds.begin(), seeds.end(), 0);
    std::ranges::sort(seeds, [this](uint32_t a, uint32_t b) {
      const uint64_t more = channels_.all[a].bytes;
      const uint64_t less = channels_.all[b].bytes;
      return more != less ? more > less : a < b;
    });
    // If a NIC's traffic has no period, it has none for the next channel either.
    std::set<std::pair<uint32_t, Grants>> without;
    for (const uint32_t seed : seeds) {
      const Channel& one = channels_.all[seed];
      if (!open_[seed] || without.contains({one.source, one.grants_seen})) continue;
      if (!MayDo(kPeriodWork)) break;
      const Bits of_nic = OfSource(seed);
      const Bits* const series = &of_nic;
      const std::optional<Period> period = FindPeriod(std::span(&series, 1), length_);
      if (!period || period->strength < kMinStrength) {
        without.emplace(one.source, one.grants_seen);
        continue;
      }
      Flood(seed, kByIterationPattern, [&](uint32_t channel) {
        return MayDo(WorkOf(channel)) && IsInStep(channel, seed, period->intervals);
      });
      if (result_.gave_up) {
        TakeBackLast();  // it may be part of another job
        break;
      }
      if (IsStar()) {
        DropLast();
        continue;
      }
      periods_.push_back(period->intervals);
    }
    MergeOnHosts();
    // Clear-to-sends show that a channel belongs to a library; its hosts determine the job.
    for (bool more = true; more;) {
      more = false;
      for (const uint32_t seed : seeds) {
        if (!open_[seed] || !HasGrants(seed)) continue;
        if (const int job = JobAround(seed); job != kNoJob) {
          Take(seed, job);
          more = true;
        }
      }
    }
    for (const uint32_t seed : seeds) {
      if (!open_[seed] || !HasGrants(seed)) continue;
      Flood(seed, kByConnection, [&](uint32_t channel) { return HasGrants(channel); });
    }
    JoinOtherTraffic();
    return std::move(result_);
  }

 private:
  bool MayDo(uint64_t work) {
    result_.gave_up = result_.gave_up || work > work_left_;
    work_left_ -= std::min(work, work_left_);
    return !result_.gave_up;
  }

  // A channel with grants may be evaluated together with everything that its NIC sends.
  uint64_t WorkOf(uint32_t channel) const {
    // Number of channels that can be added in one unit of work.
    constexpr size_t kAsMuchAsOne = 256;
    if (!HasGrants(channel)) return 1;
    return 1 + at_host_[channels_.host_of[channels_.all[channel].source]].size() / kAsMuchAsOne;
  }

  void TakeBackLast() {
    result_.confidence.pop_back();
    const auto last = static_cast<int>(result_.confidence.size());
    for (size_t i = 0; i < open_.size(); ++i) {
      if (result_.job_of[i] != last) continue;
      result_.job_of[i] = kNoJob;
      open_[i] = true;
    }
  }

  // Several NICs that only send to one NIC, or one that only sends to several, run no collective.
  // Jobs write checkpoints and read their input in this way.
  bool IsStar() const {
    const auto last = static_cast<int>(result_.confidence.size()) - 1;
    std::set<uint32_t> sources;
    std::set<uint32_t> destinations;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (result_.job_of[i] != last) continue;
      if (HasGrants(static_cast<uint32_t>(i))) return false;
      sources.insert(channels_.all[i].source);
      destinations.insert(channels_.all[i].destination);
    }
    return sources.size() + destinations.size() > 2 &&
           (sources.size() == 1 || destinations.size() == 1);
  }

  // Its channels belong to no job.
  void DropLast() {
    result_.confidence.pop_back();
    const auto last = static_cast<int>(result_.confidence.size());
    std::ranges::replace(result_.job_of, last, kNoJob);
  }

  std::array<uint32_t, 2> HostsOf(uint32_t channel) const {
    return {channels_.host_of[channels_.all[channel].source],
            channels_.host_of[channels_.all[channel].destination]};
  }

  bool HasGrants(uint32_t channel) const {
    return channels_.all[channel].grants_seen == Grants::kOwn;
  }

  // All similar channels of the channel's NIC together, because one of many channels may be active
  // too briefly to show its period.
  Bits OfSource(uint32_t channel) const {
    const Channel& one = channels_.all[channel];
    Bits sum = one.data;
    for (const uint32_t other : at_host_[channels_.host_of[one.source]]) {
      const Channel& like = channels_.all[other];
      if (open_[other] && like.source == one.source && like.grants_seen == one.grants_seen) {
        sum |= like.data;
      }
    }
    return sum;
  }

  // A library that grants buffers always does. A channel without grants may only follow the
  // library's bursts because it yields to them.
  bool IsInStep(uint32_t channel, uint32_t seed, double period) const {
    const Channel& one = channels_.all[channel];
    const bool granted = one.grants_seen != Grants::kNone;
    if (granted != (channels_.all[seed].grants_seen != Grants::kNone)) return false;
    if (StrengthAt(one.data, length_, period) >= kInStep) return true;
    return HasGrants(channel) && StrengthAt(OfSource(channel), length_, period) >= kNicInStep;
  }

  template <typename Belongs>
  void Flood(uint32_t seed, double confidence, const Belongs& belongs) {
    const auto job = static_cast<int>(result_.confidence.size());
    result_.confidence.push_back(confidence);
    std::vector<uint32_t> queue = {seed};
    std::vector<bool> visited(channels_.hosts);
    Take(seed, job);
    for (size_t next = 0; next < queue.size(); ++next) {
      for (const uint32_t host : HostsOf(queue[next])) {
        if (visited[host]) continue;
        visited[host] = true;
        for (const uint32_t neighbour : at_host_[host]) {
          if (!open_[neighbour] || !belongs(neighbour)) continue;
          Take(neighbour, job);
          queue.push_back(neighbour);
        }
      }
    }
  }

  // Rails of a job need not wait for each other and drift apart, further if one meets congestion.
  // They still use common hosts with nearly the same period and amount of data, or exactly the same
  // hosts with messages of the same size.
  void MergeOnHosts() {
    const size_t jobs = periods_.size();
    std::vector<std::set<uint32_t>> works_at(channels_.hosts);  // jobs by host
    std::vector<std::vector<double>> amounts(jobs);             // bytes per period, by channel
    std::vector<std::vector<double>> messages(jobs);            // bytes per message, by channel
    for (uint32_t i = 0; i < open_.size(); ++i) {
      if (result_.job_of[i] == kNoJob) continue;
      const auto job = static_cast<size_t>(result_.job_of[i]);
      for (const uint32_t host : HostsOf(i)) works_at[host].insert(static_cast<uint32_t>(job));
      const Channel& channel = channels_.all[i];
      const double periods = static_cast<double>((channel.last - channel.first).count()) /
                             static_cast<double>(width_.count()) / periods_[job];
      const auto bytes = static_cast<double>(channel.bytes);
      amounts[job].push_back(bytes / std::max(1.0, periods));
      messages[job].push_back(bytes / std::max(1.0, channel.transfers));
    }
    std::vector<double> bytes;
    for (std::vector<double>& of_job : amounts) bytes.push_back(UpperMedianOf(of_job));
    std::vector<double> message;
    for (std::vector<double>& of_job : messages) message.push_back(UpperMedianOf(of_job));
    const auto alike = [](double a, double b, double by) {
      return std::abs(a - b) <= by * std::max(a, b);
    };
    std::vector<uint32_t> hosts_of(jobs);
    // Number of common hosts, by pair of jobs.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> shared;
    for (uint32_t host = 0; host < channels_.hosts; ++host) {
      for (auto a = works_at[host].begin(); a != works_at[host].end(); ++a) {
        ++hosts_of[*a];
        for (auto b = std::next(a); b != works_at[host].end(); ++b) ++shared[{*a, *b}];
      }
    }
    DisjointSets sets(jobs);
    for (const auto& [pair, common] : shared) {
      const auto [a, b] = pair;
      if (2 * common <= std::min(hosts_of[a], hosts_of[b])) continue;
      bool in_step = false;
      for (int times = 1; times <= kMaxTimes; ++times) {
        in_step = in_step || alike(times * periods_[a], periods_[b], kAlike) ||
                  alike(periods_[a], times * periods_[b], kAlike);
      }
      const bool hurt = alike(periods_[a], periods_[b], kHurt) && alike(bytes[a], bytes[b], kAlike);
      // A rail slowed down by a fault by any amount.
      const bool same = common >= kSameHosts * std::max(hosts_of[a], hosts_of[b]) &&
                        alike(message[a], message[b], kAlike);
      if (in_step || hurt || same) sets.Join(a, b);
    }
    std::vector<int> number(jobs, kNoJob);
    std::vector<double> confidence;
    for (uint32_t job = 0; job < jobs; ++job) {
      const uint32_t root = sets.RootOf(job);
      if (root == job) {
        number[job] = static_cast<int>(confidence.size());
        confidence.push_back(result_.confidence[job]);
      } else {
        number[job] = number[root];
      }
    }
    for (int& job : result_.job_of) {
      if (job != kNoJob) job = number[static_cast<size_t>(job)];
    }
    result_.confidence = std::move(confidence);
  }

  void JoinOtherTraffic() {
    const size_t jobs = result_.confidence.size();
    std::vector<bool> is_job(jobs);
    std::vector<std::set<uint32_t>> senders(jobs);
    for (uint32_t i = 0; i < open_.size(); ++i) {
      if (result_.job_of[i] == kNoJob) continue;
      const auto job = static_cast<size_t>(result_.job_of[i]);
      is_job[job] = is_job[job] || channels_.all[i].grants_seen != Grants::kNone;
      senders[job].insert(channels_.all[i].source);
    }
    for (uint32_t i = 0; i < open_.size(); ++i) {
      if (result_.job_of[i] == kNoJob) continue;
      const auto job = static_cast<size_t>(result_.job_of[i]);
      is_job[job] = is_job[job] || senders[job].contains(channels_.all[i].destination);
    }
    std::vector<int> number(jobs, kNoJob);
    std::vector<double> confidence;
    double least = 1;
    for (size_t job = 0; job < jobs; ++job) {
      if (!is_job[job]) {
        least = std::min(least, result_.confidence[job]);
        continue;
      }
      number[job] = static_cast<int>(confidence.size());
      confidence.push_back(result_.confidence[job]);
    }
    if (confidence.size() == jobs) return;
    result_.other = static_cast<int>(confidence.size());
    confidence.push_back(least);
    for (int& job : result_.job_of) {
      if (job == kNoJob) continue;
      job = is_job[static_cast<size_t>(job)] ? number[static_cast<size_t>(job)] : result_.other;
    }
    result_.confidence = std::move(confidence);
  }

  void Take(uint32_t channel, int job) {
    open_[channel] = false;
    result_.job_of[channel] = job;
  }

  // Returns the only job at both hosts, otherwise the only job at either host, among jobs whose
  // library grants buffers if the channel's does.
  int JobAround(uint32_t channel) const {
    std::array<std::set<int>, 2> jobs;
    for (size_t end = 0; end < 2; ++end) {
      for (const uint32_t other : at_host_[HostsOf(channel)[end]]) {
        if (result_.job_of[other] != kNoJob && HasGrants(other)) {
          jobs[end].insert(result_.job_of[other]);
        }
      }
    }
    std::vector<int> both;
    std::ranges::set_intersection(jobs[0], jobs[1], std::back_inserter(both));
    if (both.empty()) std::ranges::set_union(jobs[0], jobs[1], std::back_inserter(both));
    return both.size() == 1 ? both.front() : kNoJob;
  }

  const Channels& channels_;
  size_t length_;
  Duration width_;
  std::vector<bool> open_;
  uint64_t work_left_;
  std::vector<std::vector<uint32_t>> at_host_;  // channels
  std::vector<double> periods_;                 // indexed by job found through its period
  WireJobs result_;
};

}  // namespace

WireJobs FindWireJobs(const Channels& channels, const std::vector<bool>& taken,
                      const TimeLine& line) {
  return InferredJobFinder(channels, taken, line).Find();
}

}  // namespace rocescope

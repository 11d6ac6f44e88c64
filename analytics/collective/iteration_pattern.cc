// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/iteration_pattern.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "analytics/collective/complete_iterations.h"
#include "analytics/collective/onset_clock.h"
#include "analytics/collective/period.h"
#include "analytics/collective/steps.h"
#include "analytics/collective/waiting.h"
#include "analytics/connection/disjoint_sets.h"
#include "base/median.h"

namespace rocescope {
namespace {

constexpr size_t kMaxSeries = 64;        // the largest channels are sufficient to find the period
constexpr double kClear = 0.3;           // strength of a period that needs no further check
constexpr double kAboutOne = 0.25;       // iterations
constexpr double kStartsTogether = 0.5;  // of a period: parts that start with the same iteration
constexpr size_t kManyIterations = 8;    // with more, the first one does not count
constexpr double kUsual = 0.08;          // difference of a usual iteration from the median length
constexpr size_t kNearby = 2;            // iterations
// Probability that a member is the last one in an iteration by chance.
constexpr double kByChance = 0.4;

class Analyst {
 public:
  Analyst(const Channels& channels, std::span<const uint32_t> of_job, const TimeLine& line)
      : channels_(channels), of_job_(of_job), line_(line) {}

  std::optional<JobIterationPattern> Run() {
    const std::optional<Period> period = PeriodOf();
    if (!period) return std::nullopt;
    Part(period->intervals);
    std::vector<const Component*> parts;
    // Where the iterations of some parts are certain, those of the others do not count.
    for (const bool is_complete : {true, false}) {
      for (const Component& component : components_) {
        if (component.is_complete != is_complete || component.iterations.count() < 2) continue;
        parts.push_back(&component);
      }
      if (!parts.empty()) break;
    }
    if (parts.empty()) return std::nullopt;  // a quiet time around two bursts looks like a period
    JobIterationPattern iteration_pattern;
    iteration_pattern.strength = period->strength;
    double intervals = period->intervals;
    if (!parts.empty()) {
      const Iterations job = JobIterations(parts);
      // The first iteration differs: connections and buffers are set up, and all ranks start
      // together. Later, each rank starts when its previous iteration is done.
      const size_t skipped = job.count() > kManyIterations ? 1 : 0;
      const auto [first, last] = UsualEnds(job, skipped);
      intervals = (job.begins[last] - job.begins[first]) / static_cast<double>(last - first);
      iteration_pattern.iterations = static_cast<uint32_t>(last - first);
      iteration_pattern.first = TimeAt(job.begins[first]);
      iteration_pattern.last = TimeAt(job.begins[last]);
      AddSpans(SlowestOf(parts, job), skipped, parts, iteration_pattern);
    }
    iteration_pattern.period = Length(intervals);
    const std::vector<GroupStep> steps = StepsOf(channels_, components_, line_.width);
    NumberMembers(iteration_pattern);
    Collect(steps, iteration_pattern);
    iteration_pattern.straggler = WaitedForBy();
    return iteration_pattern;
  }

 private:
  // Returns the straggler with the most iterations.
  std::optional<Straggler> WaitedForBy() const {
    std::vector<Straggler> all;
    std::vector<uint32_t> nics;
    for (const Component& component : components_) {
      if (component.iterations.empty()) continue;
      const std::optional<LateNic> late = FindLateNic(
          component.own, BusyActivity(channels_, component.channels), component.iterations);
      if (!late) continue;
      nics.push_back(late->nic);
      all.push_back({.member = number_of_.at(late->nic),
                     .iterations = late->iterations,
                     .of = static_cast<uint32_t>(late->last - late->first + 1),
                     .lateness = Length(late->lateness),
                     .from = TimeAt(component.iterations.begins[late->first]),
                     .until = TimeAt(component.iterations.begins[late->last + 1]),
                     .confidence = 1 - std::pow(kByChance, late->iterations),
                     .alternative = {}});
    }
    if (all.empty()) return std::nullopt;
    const auto longest = std::ranges::max_element(all, {}, &Straggler::iterations) - all.begin();
    Straggler waited = all[static_cast<size_t>(longest)];
    const std::string& host = channels_.nics[nics[static_cast<size_t>(longest)]].host;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].member == waited.member || channels_.nics[nics[i]].host != host) continue;
      if (all[i].from < waited.until && waited.from < all[i].until) {
        waited.alternative.push_back(all[i].member);
      }
    }
    return waited;
  }

  // An iteration starts when its first rank starts. Parts of a job do not always wait for each
  // other. If the iterations of the parts are certain, the k-th one of the job starts with that of
  // the first part. Otherwise the fastest part defines the iterations, unless it is one iteration
  // ahead of the next because it counted one too many.
  static Iterations JobIterations(std::vector<const Component*>& parts) {
    std::ranges::sort(parts, {}, [](const Component* part) { return part->iterations.period; });
    Iterations job = parts[0]->iterations;
    if (parts.size() == 1) return job;
    if (!parts[0]->is_complete) {
      const Iterations& next = parts[1]->iterations;
      const double ahead = static_cast<double>(job.count()) * (next.period / job.period - 1);
      return std::abs(ahead - 1) < kAboutOne ? next : job;
    }
    const auto first_of = [](const Component* part) { return part->iterations.begins.front(); };
    const double first = first_of(*std::ranges::min_element(parts, {}, first_of));
    job = {};
    for (const Component* part : parts) {
      if (first_of(part) > first + kStartsTogether * part->iterations.period) continue;
      const std::vector<double>& begins = part->iterations.begins;
      for (size_t k = 0; k < begins.size(); ++k) {
        if (k == job.begins.size()) job.begins.push_back(begins[k]);
        job.begins[k] = std::min(job.begins[k], begins[k]);
      }
    }
    job.quiet.resize(job.begins.size());
    job.seen = static_cast<uint32_t>(job.begins.size());
    job.period = (job.begins.back() - job.begins.front()) / static_cast<double>(job.count());
    return job;
  }

  // The first and the last start between which the period is measured. Only data is visible: after
  // an evaluation or a stall, the visible start of an iteration is late. If possible, both starts
  // therefore follow an iteration of usual length.
  static std::pair<size_t, size_t> UsualEnds(const Iterations& job, size_t skipped) {
    std::pair<size_t, size_t> ends = {skipped, job.count()};
    if (skipped == 0) return ends;
    std::vector<double> lengths;
    for (size_t k = 0; k < job.count(); ++k) lengths.push_back(job.begins[k + 1] - job.begins[k]);
    const std::vector<double> in_order = lengths;
    const double median = UpperMedianOf(lengths);
    const auto is_usual = [&](size_t start) {
      return std::abs(in_order[start - 1] / median - 1) <= std::max(kUsual, 2 / median);
    };
    for (size_t k = 0; k <= kNearby; ++k) {
      if (!is_usual(skipped + k)) continue;
      ends.first = skipped + k;
      break;
    }
    for (size_t k = 0; k <= kNearby; ++k) {
      if (!is_usual(job.count() - k)) continue;
      ends.second = job.count() - k;
      break;
    }
    return ends;
  }

  Timestamp TimeAt(double stretch) const { return line_.begin + Length(stretch); }
  Duration Length(double intervals) const {
    return Duration(std::llround(intervals * static_cast<double>(line_.width.count())));
  }

  // The slowest part whose iterations are certain and more than half as many as those of the job;
  // without one, the job. `parts` are in the order of their periods.
  static const Iterations& SlowestOf(const std::vector<const Component*>& parts,
                                     const Iterations& job) {
    for (auto part = parts.rbegin(); part != parts.rend() && (*part)->is_complete; ++part) {
      if (2 * (*part)->iterations.count() > job.count()) return (*part)->iterations;
    }
    return job;
  }

  // The spans are those of the slowest part, because a fault often delays only one rail. Parts
  // drift, but each does about one iteration's work between two starts of any of them.
  void AddSpans(const Iterations& iterations, size_t skipped,
                const std::vector<const Component*>& parts,
                JobIterationPattern& iteration_pattern) const {
    const size_t count = iterations.count();
    const size_t first = std::max(skipped, count - std::min(count, kMaxIterationSpans));
    for (size_t k = first; k < count; ++k) {
      const auto begin = static_cast<size_t>(iterations.begins[k]);
      const auto end = static_cast<size_t>(iterations.begins[k + 1]);
      size_t most = 0;
      for (const Component* part : parts) {
        most = std::max(most, part->active.CountBefore(end) - part->active.CountBefore(begin));
      }
      iteration_pattern.spans.push_back({.begin = TimeAt(iterations.begins[k]),
                                         .end = TimeAt(iterations.begins[k + 1]),
                                         .sending = Length(static_cast<double>(most))});
    }
  }

  std::optional<Period> PeriodOf() {
    std::vector<uint32_t> largest(of_job_.begin(), of_job_.end());
    std::ranges::sort(largest, [this](uint32_t a, uint32_t b) {
      const uint64_t more = channels_.all[a].bytes;
      const uint64_t less = channels_.all[b].bytes;
      return more != less ? more > less : a < b;
    });
    largest.resize(std::min(largest.size(), kMaxSeries));
    std::vector<const Bits*> series;
    for (const uint32_t channel : largest) series.push_back(&channels_.all[channel].data);
    Periods found = FindPeriods(series, line_.length);
    const std::optional<Period> by_channel = found.best;
    candidates_ = std::move(found.all);
    if (by_channel && by_channel->strength >= kClear) return by_channel;
    // If each channel is active only briefly, the sum over a NIC is more informative, although
    // phases on different queue pairs then look alike.
    std::map<uint32_t, Bits> of_nic;
    for (const uint32_t channel : of_job_) {
      of_nic[channels_.all[channel].source] |= channels_.all[channel].data;
    }
    series.clear();
    for (const auto& [nic, bits] : of_nic) series.push_back(&bits);
    series.resize(std::min(series.size(), kMaxSeries));
    found = FindPeriods(series, line_.length);
    const std::optional<Period> by_nic = found.best;
    candidates_.insert(candidates_.end(), found.all.begin(), found.all.end());
    std::ranges::sort(candidates_, {}, &Period::intervals);
    if (!by_channel || (by_nic && by_nic->strength > by_channel->strength)) return by_nic;
    return by_channel;
  }

  void Part(double period) {
    DisjointSets sets(channels_.nics.size());
    for (const uint32_t channel : of_job_) {
      sets.Join(channels_.all[channel].source, channels_.all[channel].destination);
    }
    std::map<uint32_t, Component> by_root;
    for (const uint32_t channel : of_job_) {
      by_root[sets.RootOf(channels_.all[channel].source)].channels.push_back(channel);
    }
    for (auto& [root, component] : by_root) {
      Bits active;
      for (const uint32_t channel : component.channels) active |= channels_.all[channel].data;
      component.active = active;
      component.own = OwnActivity(channels_, component.channels);
      std::vector<const Bits*> data;
      for (const uint32_t channel : component.channels)
        data.push_back(&channels_.all[channel].data);
      std::vector<ClockChannel> clocked;
      for (const uint32_t channel : component.channels) {
        const Channel& one = channels_.all[channel];
        clocked.push_back(
            {.source = one.source, .destination = one.destination, .bits = &one.data});
      }
      if (auto by_onsets = FindIterationsByOnsets(clocked, line_.length, candidates_)) {
        component.iterations = *std::move(by_onsets);
        component.is_complete = true;
      } else if (auto complete =
                     FindCompleteIterations(active, data, line_.length, candidates_, period)) {
        component.iterations = *std::move(complete);
        component.is_complete = true;
      } else {
        component.iterations = FindIterations(active, line_.length, period);
        std::vector<const Bits*> members;
        for (const auto& [nic, own] : component.own) members.push_back(&own);
        JoinUnfinished(members, component.iterations);
      }
      components_.push_back(std::move(component));
    }
  }

  void NumberMembers(JobIterationPattern& iteration_pattern) {
    std::vector<uint32_t> nics;
    for (const uint32_t channel : of_job_) {
      nics.push_back(channels_.all[channel].source);
      nics.push_back(channels_.all[channel].destination);
    }
    std::ranges::sort(nics, [this](uint32_t a, uint32_t b) {
      return channels_.nics[a].address < channels_.nics[b].address;
    });
    const auto rest = std::ranges::unique(nics);
    nics.erase(rest.begin(), rest.end());
    for (const uint32_t nic : nics) {
      number_of_.emplace(nic, static_cast<uint32_t>(iteration_pattern.members.size()));
      iteration_pattern.members.push_back(channels_.nics[nic]);
    }
  }

  // Merges groups with the same pattern into one collective. Components number their steps from
  // their own longest quiet time, so kind and size identify equal steps.
  void Collect(const std::vector<GroupStep>& steps, JobIterationPattern& iteration_pattern) const {
    struct Size {
      double bytes = 0;  // bytes per member of a group
      size_t members = 0;
    };
    std::vector<Size> sizes;
    std::vector<size_t> firsts;
    for (const GroupStep& step : steps) {
      const Size size = {.bytes = step.bytes / static_cast<double>(step.members.size()),
                         .members = step.members.size()};
      size_t at = 0;
      for (; at < iteration_pattern.collectives.size(); ++at) {
        const double ratio = size.bytes / std::max(1.0, sizes[at].bytes);
        if (iteration_pattern.collectives[at].kind == step.shape.kind && ratio > 0.5 && ratio < 2 &&
            size.members == sizes[at].members) {
          break;
        }
      }
      if (at == iteration_pattern.collectives.size()) {
        iteration_pattern.collectives.emplace_back();
        sizes.push_back(size);
        iteration_pattern.collectives[at].kind = step.shape.kind;
        iteration_pattern.collectives[at].alternative = step.shape.alternative;
        iteration_pattern.collectives[at].confidence = step.shape.confidence;
        iteration_pattern.collectives[at].offset = Length(static_cast<double>(step.step.begin));
        iteration_pattern.collectives[at].duration =
            Length(static_cast<double>(step.step.end - step.step.begin));
      }
      Collective& collective = iteration_pattern.collectives[at];
      collective.confidence = std::min(collective.confidence, step.shape.confidence);
      collective.bytes += static_cast<uint64_t>(step.bytes);
      std::vector<uint32_t>& group = collective.groups.emplace_back();
      for (const uint32_t member : step.members) group.push_back(number_of_.at(member));
      std::ranges::sort(group);
    }
    for (Collective& collective : iteration_pattern.collectives)
      std::ranges::sort(collective.groups);
    DropRest(iteration_pattern.collectives);
    std::ranges::stable_sort(iteration_pattern.collectives, {}, &Collective::offset);
  }

  // Where most of the traffic is classified, a small unknown remainder is not a step of its own. It
  // can be a rail that a fault delays, so that it does not overlap itself at the common period, or
  // other traffic.
  static void DropRest(std::vector<Collective>& collectives) {
    constexpr uint64_t kOneIn = 4;
    uint64_t all = 0;
    uint64_t unknown = 0;
    for (const Collective& collective : collectives) {
      all += collective.bytes;
      if (collective.kind == CollectiveKind::kUnknown) unknown += collective.bytes;
    }
    if (kOneIn * unknown >= all) return;
    std::erase_if(collectives, [](const Collective& collective) {
      return collective.kind == CollectiveKind::kUnknown;
    });
  }

  const Channels& channels_;
  std::span<const uint32_t> of_job_;
  const TimeLine& line_;
  std::vector<Period> candidates_;  // ascending
  std::vector<Component> components_;
  std::map<uint32_t, uint32_t> number_of_;  // index of a NIC among the members
};

}  // namespace

std::optional<JobIterationPattern> IterationPatternOf(const Channels& channels,
                                                      std::span<const uint32_t> of_job,
                                                      const TimeLine& line) {
  return Analyst(channels, of_job, line).Run();
}

}  // namespace rocescope

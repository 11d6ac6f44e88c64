// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/inferred_jobs.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/median.h"

namespace rocescope {
namespace {

// The window by which a quarter of the entities had changed. A chance change just before the common
// one does not count.
int64_t OnsetOf(std::span<const TrafficStep> steps) {
  std::vector<int64_t> onsets;
  for (const TrafficStep& one : steps) onsets.push_back(one.step.onset);
  const auto quarter = onsets.begin() + std::ssize(onsets) / 4;
  std::ranges::nth_element(onsets, quarter);
  return *quarter;
}

int64_t LastOnsetOf(std::span<const TrafficStep> steps) {
  return std::ranges::max(steps, {}, [](const TrafficStep& one) { return one.step.onset; })
      .step.onset;
}

double MedianRateOf(std::span<const TrafficStep> steps, float LevelStep::* level) {
  std::vector<float> levels;
  for (const TrafficStep& one : steps) levels.push_back(one.step.*level);
  return RateOfLevel(MedianOf(levels));
}

// Whether most of the entities have traffic on one side of the step only.
bool IsFromOrToIdle(std::span<const TrafficStep> steps, double idle) {
  const auto count = std::ranges::count_if(steps, [&](const TrafficStep& one) {
    const auto [less, more] =
        std::minmax({RateOfLevel(one.step.before), RateOfLevel(one.step.after)});
    return less < idle * more;
  });
  return 2 * static_cast<size_t>(count) > steps.size();
}

size_t CommonOf(const std::vector<Entity>& entities, std::span<const TrafficStep> steps) {
  size_t count = 0;
  auto at = steps.begin();
  for (const Entity& entity : entities) {
    while (at != steps.end() && at->entity < entity) ++at;
    if (at == steps.end()) break;
    if (at->entity == entity) ++count;
  }
  return count;
}

}  // namespace

void InferredJobs::Add(Steps all) {
  std::vector<TrafficStep> rest(all.begin(), all.end());
  auto matched = TakeJobs(rest);
  const bool has_new =
      matched.empty() ||
      (rest.size() >= options_.fewest &&
       static_cast<double>(rest.size()) >= options_.good_part * static_cast<double>(all.size()));
  if (!has_new && !rest.empty()) {
    // They changed with the largest job, but nothing else says that they belong to it.
    auto& largest =
        *std::ranges::max_element(matched, {}, [](const auto& one) { return one.second.size(); });
    largest.second.insert(largest.second.end(), rest.begin(), rest.end());
    std::ranges::sort(largest.second, {}, &TrafficStep::entity);
  }
  for (const auto& [number, steps] : matched) Apply(number, steps);
  if (has_new) Apply(NewJob(rest), rest);
}

std::vector<std::pair<uint32_t, std::vector<TrafficStep>>> InferredJobs::TakeJobs(
    std::vector<TrafficStep>& steps) const {
  const int64_t onset = OnsetOf(steps);
  const bool up = steps.front().step.up;
  struct Candidate {
    double part = 0;
    uint32_t number = 0;
  };
  std::vector<Candidate> candidates;
  for (const auto& [number, job] : jobs_) {
    const auto common = static_cast<double>(CommonOf(job.entities, steps));
    const double part = common / static_cast<double>(job.entities.size());
    if (part < options_.most) continue;
    // A later job may run on the ports of an ended one: only the same ports show the same job.
    const bool ended = !job.runs && onset - job.changed > options_.longest_pause;
    if (ended && up && common < options_.most * static_cast<double>(steps.size())) continue;
    candidates.push_back({.part = part, .number = number});
  }
  std::ranges::sort(candidates, {},
                    [](const Candidate& one) { return std::pair(-one.part, one.number); });
  std::vector<std::pair<uint32_t, std::vector<TrafficStep>>> matched;
  for (const Candidate& candidate : candidates) {
    const std::vector<Entity>& entities = jobs_.at(candidate.number).entities;
    // A port of several jobs counts for the first one only.
    const double left = static_cast<double>(CommonOf(entities, steps));
    if (left < options_.most * static_cast<double>(entities.size())) continue;
    const auto belongs = [&](const TrafficStep& one) {
      return std::ranges::binary_search(entities, one.entity);
    };
    std::vector<TrafficStep>& own =
        matched.emplace_back(candidate.number, std::vector<TrafficStep>()).second;
    std::ranges::copy_if(steps, std::back_inserter(own), belongs);
    std::erase_if(steps, belongs);
  }
  return matched;
}

uint32_t InferredJobs::NewJob(Steps steps) {
  std::vector<Entity> entities;
  for (const TrafficStep& one : steps) entities.push_back(one.entity);
  const bool up = steps.front().step.up;
  const auto is_taken = [&](const Entity& entity) {
    return std::ranges::binary_search(entities, entity);
  };
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = at->second;
    const size_t common = CommonOf(job.entities, steps);
    // The new job has taken the place of an ended one.
    bool is_gone = up && !job.runs && 2 * common > job.entities.size();
    // A part of a job that changes alone is a job of its own.
    if (!up && 5 * common >= 4 * entities.size()) {
      std::erase_if(job.entities, is_taken);
      is_gone = job.entities.empty();
    }
    at = is_gone ? jobs_.erase(at) : std::next(at);
  }
  if (jobs_.size() >= options_.max_jobs) {
    jobs_.erase(std::ranges::min_element(
        jobs_, {}, [](const auto& one) { return std::pair(one.second.changed, one.first); }));
  }
  const bool idle = IsFromOrToIdle(steps, options_.idle);
  // Unless its traffic begins now, it ran before.
  jobs_[++last_job_] = {.entities = std::move(entities), .runs = !(up && idle)};
  return last_job_;
}

void InferredJobs::Apply(uint32_t number, Steps steps) {
  Job& job = jobs_.at(number);
  const bool up = steps.front().step.up;
  const bool idle = IsFromOrToIdle(steps, options_.idle);
  const int64_t onset = OnsetOf(steps);
  if (up && !job.runs) {
    const bool is_pause = job.stopped != 0 && onset - job.changed <= options_.longest_pause;
    is_pause&& Find(job.stopped) != nullptr ? Resume(number, steps) : Start(number, steps);
  } else if (!up && job.runs && idle) {
    Stop(number, steps);
  } else if (job.runs) {
    ChangeTraffic(number, steps);
  } else if (Episode* stopped = Find(job.stopped)) {
    Extend(*stopped, steps);
    return;
  }
  job.changed = onset;
}

void InferredJobs::Start(uint32_t number, Steps steps) {
  Job& job = jobs_.at(number);
  job.runs = true;
  job.paused = 0;
  job.traffic_changed = 0;
  job.started = AddEpisode(EpisodeKind::kJobStarted, number, steps);
}

void InferredJobs::Stop(uint32_t number, Steps steps) {
  Job& job = jobs_.at(number);
  job.runs = false;
  job.stopped = AddEpisode(EpisodeKind::kJobStopped, number, steps);
}

// Successive pauses of a job, such as its checkpoints, form one episode.
void InferredJobs::Resume(uint32_t number, Steps steps) {
  Job& job = jobs_.at(number);
  job.runs = true;
  Episode& stopped = *Find(job.stopped);
  const Timestamp resumed = StartOf(OnsetOf(steps));
  stopped.kind = EpisodeKind::kJobPaused;
  stopped.until = resumed;
  stopped.paused = resumed - stopped.from;
  stopped.steps.push_back({.at = resumed, .up = true});
  Episode* earlier = Find(job.paused);
  if (earlier == nullptr) {
    job.paused = std::exchange(job.stopped, 0);
    return;
  }
  earlier->until = resumed;
  earlier->paused += stopped.paused;
  ++earlier->count;
  earlier->steps.insert(earlier->steps.end(), stopped.steps.begin(), stopped.steps.end());
  const auto surplus = std::ssize(earlier->steps) - static_cast<int64_t>(kMaxEpisodeSteps);
  if (surplus > 0) earlier->steps.erase(earlier->steps.begin(), earlier->steps.begin() + surplus);
  entities_ -= stopped.entities.size();
  episodes_.erase(std::exchange(job.stopped, 0));
}

void InferredJobs::ChangeTraffic(uint32_t number, Steps steps) {
  Job& job = jobs_.at(number);
  const bool up = steps.front().step.up;
  Episode* started = Find(job.started);
  const bool is_ramp = up && started != nullptr && job.paused == 0 && job.traffic_changed == 0 &&
                       StartOf(OnsetOf(steps)) - started->from <= options_.ramp * window_;
  Episode* earlier = is_ramp ? started : Find(job.traffic_changed);
  if (earlier == nullptr) {
    job.traffic_changed = AddEpisode(EpisodeKind::kJobTrafficChanged, number, steps);
    return;
  }
  if (!is_ramp) ++earlier->count;
  Extend(*earlier, steps);
}

void InferredJobs::Extend(Episode& episode, Steps steps) const {
  episode.until = std::max(episode.until, StartOf(LastOnsetOf(steps) + 1));
  episode.after = MedianRateOf(steps, &LevelStep::after);
  if (episode.steps.size() >= kMaxEpisodeSteps) episode.steps.erase(episode.steps.begin());
  episode.steps.push_back({.at = StartOf(OnsetOf(steps)), .up = steps.front().step.up});
}

uint64_t InferredJobs::AddEpisode(EpisodeKind kind, uint32_t number, Steps steps) {
  const Timestamp from = StartOf(OnsetOf(steps));
  Episode episode{
      .kind = kind,
      .job = number,
      .from = from,
      .until = StartOf(LastOnsetOf(steps) + 1),
      .of = static_cast<uint32_t>(jobs_.at(number).entities.size()),
      .before = MedianRateOf(steps, &LevelStep::before),
      .after = MedianRateOf(steps, &LevelStep::after),
      .steps = {{.at = from, .up = steps.front().step.up}},
  };
  for (const TrafficStep& one : steps) episode.entities.push_back(one.entity);
  entities_ += episode.entities.size();
  episodes_.emplace(++last_episode_, std::move(episode));
  while (episodes_.size() > 1 &&
         (episodes_.size() > options_.max_episodes || entities_ > options_.max_entities)) {
    ForgetOldest();
  }
  return last_episode_;
}

void InferredJobs::ForgetOldest() {
  entities_ -= episodes_.begin()->second.entities.size();
  episodes_.erase(episodes_.begin());
  ++forgotten_;
}

Episode* InferredJobs::Find(uint64_t id) {
  const auto at = episodes_.find(id);
  return at == episodes_.end() ? nullptr : &at->second;
}

std::vector<Episode> InferredJobs::Episodes(int64_t now) const {
  std::vector<Episode> episodes;
  for (const auto& [id, episode] : episodes_) {
    Episode& one = episodes.emplace_back(episode);
    const bool is_long = StartOf(now) - one.from > options_.longest_pause * window_;
    if (one.kind == EpisodeKind::kJobStopped && is_long) one.kind = EpisodeKind::kJobEnded;
  }
  std::ranges::sort(episodes, {},
                    [](const Episode& one) { return std::tuple(one.from, one.job, one.kind); });
  return episodes;
}

}  // namespace rocescope

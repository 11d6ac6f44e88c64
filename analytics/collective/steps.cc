// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {
namespace {

constexpr double kOften = 0.5;   // fraction of the iterations that must contain an activity
constexpr double kPause = 0.05;  // pause between two steps as a fraction of a period
constexpr double kPart = 0.2;    // fraction of a channel's time in a step, for it to take part
constexpr double kPieces = 0.6;  // confidence in a pattern known only from pieces
constexpr size_t kFew = 4;       // one group in this many

class Finder {
 public:
  Finder(const Channels& channels, Duration width) : channels_(channels), width_(width) {}

  std::vector<GroupStep> Find(std::span<const Component> components) const {
    std::vector<GroupStep> steps;
    for (const Component& component : components) {
      if (!component.iterations.empty()) AddSteps(component, steps);
    }
    Settle(steps);
    Agree(steps);
    return steps;
  }

 private:
  // Returns for each slot of an iteration how often the channel was active.
  std::vector<uint32_t> Fold(const Bits& active, const Iterations& iterations) const {
    const auto size = static_cast<size_t>(std::ceil(iterations.period));
    // The starts of iterations have jitter.
    const size_t blur = std::max<size_t>(1, size / 64);
    std::vector<uint32_t> counts(size);
    for (size_t k = 0; k < iterations.count(); ++k) {
      const auto begin = static_cast<size_t>(iterations.begins[k]);
      const auto end = static_cast<size_t>(iterations.begins[k + 1]);
      size_t counted = 0;  // this iteration has been counted up to here
      for (size_t i = active.FirstFrom(begin); i < end; i = active.FirstFrom(i + 1)) {
        const size_t at = i - begin;
        const size_t from = std::max(counted, at < blur ? 0 : at - blur);
        for (size_t b = from; b < std::min(size, at + blur + 1); ++b) ++counts[b];
        counted = std::max(counted, std::min(size, at + blur + 1));
      }
    }
    return counts;
  }

  // When a channel sends within a step, and for how long.
  struct Burst {
    double center = 0;  // slots from the start of the iteration
    double length = 0;
    double onset = 0;
  };
  static Burst BurstOf(const Bits& active, const Iterations& iterations, const Step& step) {
    double centers = 0;
    double lengths = 0;
    double onsets = 0;
    double bursts = 0;
    for (size_t k = 0; k < iterations.count(); ++k) {
      const auto begin = static_cast<size_t>(iterations.begins[k]);
      const size_t end = std::min(begin + step.end, static_cast<size_t>(iterations.begins[k + 1]));
      double sum = 0;
      double count = 0;
      const size_t first = active.FirstFrom(begin + step.begin);
      for (size_t i = active.FirstFrom(begin + step.begin); i < end; i = active.FirstFrom(i + 1)) {
        sum += static_cast<double>(i - begin);
        ++count;
      }
      if (count == 0) continue;
      centers += sum / count;
      lengths += count;
      onsets += static_cast<double>(first - begin);
      ++bursts;
    }
    if (bursts == 0) return {};
    return {.center = centers / bursts, .length = lengths / bursts, .onset = onsets / bursts};
  }

  void AddSteps(const Component& component, std::vector<GroupStep>& result) const {
    const auto size = static_cast<size_t>(std::ceil(component.iterations.period));
    const auto often = static_cast<uint32_t>(
        std::max(1.0, kOften * static_cast<double>(component.iterations.count())));
    std::vector<std::vector<uint32_t>> folds;
    std::vector<bool> busy(size);
    for (const uint32_t channel : component.channels) {
      folds.push_back(Fold(channels_.all[channel].data, component.iterations));
      for (size_t b = 0; b < size; ++b) {
        if (folds.back()[b] >= often) busy[b] = true;
      }
    }
    const auto pause = static_cast<size_t>(std::max(2.0, kPause * static_cast<double>(size)));
    std::vector<Step> steps;
    for (size_t b = 0; b < size; ++b) {
      if (!busy[b]) continue;
      if (steps.empty() || b - steps.back().end >= pause) steps.push_back({.begin = b, .end = b});
      steps.back().end = b + 1;
    }
    for (size_t number = 0; number < steps.size(); ++number) {
      AddStep(component, folds, steps, number, result);
    }
  }

  void AddStep(const Component& component, const std::vector<std::vector<uint32_t>>& folds,
               const std::vector<Step>& steps, size_t number,
               std::vector<GroupStep>& result) const {
    std::map<std::pair<uint32_t, uint32_t>, Arc> arcs;
    for (size_t c = 0; c < component.channels.size(); ++c) {
      const auto within = [&](const Step& step) {
        double sum = 0;
        for (size_t b = step.begin; b < step.end; ++b) sum += folds[c][b];
        return sum;
      };
      double all = 0;
      for (const Step& step : steps) all += within(step);
      const double share = all > 0 ? within(steps[number]) / all : 0;
      if (share < kPart) continue;
      const Channel& channel = channels_.all[component.channels[c]];
      // The flow's sums may cover more time than the time line.
      const double iterations = std::max(
          1.0, std::round(static_cast<double>((channel.last - channel.first).count()) /
                          static_cast<double>(width_.count()) / component.iterations.period));
      Arc& arc = arcs[{channel.source, channel.destination}];
      arc.from = channel.source;
      arc.to = channel.destination;
      arc.bytes += static_cast<double>(channel.bytes) / iterations * share;
      arc.transfers = std::max(arc.transfers, channel.transfers / iterations * share);
      const Burst burst = BurstOf(channel.data, component.iterations, steps[number]);
      arc.center = burst.center;
      arc.length = burst.length;
      arc.onset = burst.onset;
    }
    DisjointSets sets(channels_.nics.size());
    for (const auto& [pair, arc] : arcs) sets.Join(arc.from, arc.to);
    std::map<uint32_t, GroupStep> groups;
    for (const auto& [pair, arc] : arcs) {
      GroupStep& group = groups[sets.RootOf(arc.from)];
      group.arcs.push_back(arc);
      group.bytes += arc.bytes;
      for (const uint32_t member : {arc.from, arc.to}) group.members.push_back(member);
    }
    for (auto& [root, group] : groups) {
      std::ranges::sort(group.members);
      const auto rest = std::ranges::unique(group.members);
      group.members.erase(rest.begin(), rest.end());
      group.number = number;
      group.step = steps[number];
      group.shape = ShapeOf(group.arcs, channels_.host_of);
      result.push_back(std::move(group));
    }
  }

  // Rails do the same work. If one of many looks different, for example because a fault caused
  // retransmissions, but carries about as much as the others, it is assumed to do the same.
  static void Agree(std::vector<GroupStep>& steps) {
    struct Kind {
      size_t groups = 0;
      double bytes = 0;
      Shape shape;
    };
    // Indexed by step and size.
    std::map<std::pair<size_t, size_t>, std::map<CollectiveKind, Kind>> all;
    for (const GroupStep& step : steps) {
      Kind& kind = all[{step.number, step.members.size()}][step.shape.kind];
      ++kind.groups;
      kind.bytes += step.bytes;
      kind.shape = step.shape;
    }
    for (GroupStep& step : steps) {
      const auto& kinds = all[{step.number, step.members.size()}];
      const auto most =
          std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second.groups; });
      const auto& [kind, others] = *most;
      if (kind == step.shape.kind || kind == CollectiveKind::kUnknown) continue;
      if (kFew * kinds.at(step.shape.kind).groups > others.groups) continue;
      const double ratio =
          step.bytes * static_cast<double>(others.groups) / std::max(1.0, others.bytes);
      if (ratio < 0.5 || ratio > 2) continue;
      step.shape = others.shape;
      step.shape.confidence = std::min(step.shape.confidence, kPieces);
    }
  }

  // In a collective over all GPUs, each host may use only some of its NICs. Single NICs then show
  // isolated arcs, or data enters a host by one NIC and leaves by another. Only hosts show the
  // complete pattern.
  bool IsPiece(const GroupStep& group) const {
    if (group.shape.kind == CollectiveKind::kUnknown) return true;
    if (group.shape.kind == CollectiveKind::kAllToAll) return false;
    std::vector<uint32_t> hosts;
    for (const uint32_t nic : group.members) hosts.push_back(channels_.host_of[nic]);
    std::ranges::sort(hosts);
    return std::ranges::adjacent_find(hosts) != hosts.end();
  }

  // Returns the pattern with most of the data of these pieces.
  static Shape MostOf(const std::vector<GroupStep>& steps, const std::vector<size_t>& pieces) {
    std::map<CollectiveKind, double> votes;
    for (const size_t i : pieces) votes[steps[i].shape.kind] += steps[i].bytes;
    const auto most =
        std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
    if (most->first == CollectiveKind::kUnknown) return {};
    return {.kind = most->first, .alternative = {}, .confidence = kPieces};
  }

  void Settle(std::vector<GroupStep>& steps) const {
    std::map<size_t, std::vector<size_t>> pieces;  // indexed by step number
    std::vector<GroupStep> settled;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (IsPiece(steps[i])) {
        pieces[steps[i].number].push_back(i);
      } else {
        settled.push_back(std::move(steps[i]));
      }
    }
    for (const auto& [number, of_step] : pieces) {
      for (GroupStep& whole : Contract(steps, of_step)) {
        if (whole.shape.kind == CollectiveKind::kUnknown) whole.shape = MostOf(steps, of_step);
        settled.push_back(std::move(whole));
      }
    }
    steps = std::move(settled);
  }

  std::vector<GroupStep> Contract(const std::vector<GroupStep>& steps,
                                  const std::vector<size_t>& of_step) const {
    std::map<std::pair<uint32_t, uint32_t>, Arc> arcs;
    // Whether each NIC sends, and whether it receives.
    std::map<uint32_t, std::pair<bool, bool>> ways;
    DisjointSets sets(channels_.hosts);
    for (const size_t i : of_step) {
      for (const Arc& arc : steps[i].arcs) {
        const uint32_t from = channels_.host_of[arc.from];
        const uint32_t to = channels_.host_of[arc.to];
        Arc& sum = arcs[{from, to}];
        sum.from = from;
        sum.to = to;
        sum.bytes += arc.bytes;
        sum.transfers = std::max(sum.transfers, arc.transfers);
        sum.center = arc.center;
        sum.length = arc.length;
        sum.onset = arc.onset;
        sets.Join(from, to);
        ways[arc.from].first = true;
        ways[arc.to].second = true;
      }
    }
    std::map<uint32_t, GroupStep> groups;
    for (const auto& [pair, arc] : arcs) groups[sets.RootOf(pair.first)].arcs.push_back(arc);
    std::vector<uint32_t> self(channels_.hosts);
    for (uint32_t host = 0; host < self.size(); ++host) self[host] = host;
    const bool one_way = std::ranges::none_of(
        ways, [](const auto& way) { return way.second.first && way.second.second; });
    std::vector<GroupStep> result;
    for (auto& [root, group] : groups) {
      group.number = steps[of_step[0]].number;
      group.step = steps[of_step[0]].step;
      group.shape = ShapeOf(group.arcs, self);
      // An all-to-all would be complete between NICs.
      if (group.shape.kind == CollectiveKind::kAllToAll) {
        group.shape = {.kind = CollectiveKind::kTree, .alternative = {}, .confidence = 0.8};
      }
      if (group.arcs.size() == 2 && one_way && group.shape.kind != CollectiveKind::kUnknown) {
        // Data enters by one NIC and leaves by another: a ring through the GPUs of both hosts.
        group.shape = {.kind = CollectiveKind::kRing, .alternative = {}, .confidence = 0.9};
      }
      for (const size_t i : of_step) {
        if (sets.RootOf(channels_.host_of[steps[i].arcs[0].from]) != root) continue;
        group.bytes += steps[i].bytes;
        group.members.insert(group.members.end(), steps[i].members.begin(), steps[i].members.end());
      }
      std::ranges::sort(group.members);
      const auto rest = std::ranges::unique(group.members);
      group.members.erase(rest.begin(), rest.end());
      result.push_back(std::move(group));
    }
    return result;
  }

  const Channels& channels_;
  Duration width_;
};

}  // namespace

std::vector<GroupStep> StepsOf(const Channels& channels, std::span<const Component> components,
                               Duration width) {
  return Finder(channels, width).Find(components);
}

}  // namespace rocescope

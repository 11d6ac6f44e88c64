// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/injector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rocescope::sim {
namespace {

// The counter's increase since this call.
std::function<uint64_t()> Since(const std::function<uint64_t()>& counter) {
  return [counter, start = counter()] { return counter() - start; };
}

// Nothing if the options have the place that the kind needs.
std::string_view MissingPlace(const FaultOptions& options) {
  switch (InfoOf(options.kind).place) {
    case PlaceKind::kLink:
      return options.link == topology::kNone ? "a link" : "";
    case PlaceKind::kSwitch:
      return options.node == topology::kNone ? "a switch" : "";
    case PlaceKind::kNic:
      return options.nic == topology::kNone ? "a NIC" : "";
    case PlaceKind::kGpu:
      return options.gpu == topology::kNone ? "a GPU" : "";
  }
  return "";
}

}  // namespace

bool HasDirection(FaultKind kind) {
  return kind == FaultKind::kDegradedRate || kind == FaultKind::kAddedLatency ||
         kind == FaultKind::kGrayLoss || kind == FaultKind::kBitErrors ||
         kind == FaultKind::kReordering;
}

bool CanGrow(FaultKind kind) {
  switch (kind) {
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
    case FaultKind::kCorruption:
    case FaultKind::kLostCnps:
    case FaultKind::kDegradedRate:
    case FaultKind::kAddedLatency:
    case FaultKind::kStraggler:
    case FaultKind::kReordering:
      return true;
    default:
      return false;
  }
}

bool NeedsPackets(FaultKind kind) {
  return kind == FaultKind::kPfcDeadlock || kind == FaultKind::kDeprioritisedCnps ||
         kind == FaultKind::kReordering;
}

double SeverityAt(const FaultOptions& options, SimTime time, SimTime run_end) {
  if (options.growth >= 1) return 1;
  const SimTime end = std::min(EndOf(options), run_end);
  if (time >= end) return 1;
  const double rest = static_cast<double>(end - std::max(time, options.onset)) /
                      static_cast<double>(end - options.onset);
  return std::pow(options.growth, rest);
}

SimTime EndOf(const FaultOptions& options) {
  return options.duration == kNever || options.onset > kNever - options.duration
             ? kNever
             : options.onset + options.duration;
}

Injector::Injector(Network& network, std::vector<Job*> jobs, const Options& options)
    : network_(network),
      jobs_(std::move(jobs)),
      options_(options),
      outages_(network, options.reroute_delay),
      wire_faults_(network) {}

Injector::~Injector() = default;

Status Injector::Add(const FaultOptions& options, bool active) {
  if (const std::string_view missing = MissingPlace(options); !missing.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} needs {} as its place", InfoOf(options.kind).name, missing));
  }
  const size_t number = happened_.size();
  Happened happened = {.options = options};
  Result<Effect> effect = MakeEffect(options, happened);
  if (!effect) return tl::unexpected(effect.error());
  happened_.push_back(std::move(happened));
  effects_.push_back(*std::move(effect));
  if (!active) return {};
  Engine& engine = network_.engine();
  engine.At(options.onset, [this, number] { Begin(number); });
  if (const SimTime end = EndOf(options); end != kNever) {
    engine.At(end, [this, number] { End(number); });
  }
  return {};
}

void Injector::Begin(size_t number) {
  Effect& effect = effects_[number];
  if (effect.affected) effect.affected = Since(effect.affected);
  effect.begin();
  if (effect.grow && happened_[number].options.growth < 1) Grow(number);
  if (effect.affected || effect.shows) {
    watched_.push_back(number);
    Watch(number);
  } else {
    happened_[number].visible = network_.engine().Now();
  }
}

void Injector::End(size_t number) {
  effects_[number].end();
  if (effects_[number].trails) return;
  // Without a count, shows() would now see another fault at the same place.
  if (effects_[number].affected) Look(number);
  std::erase(watched_, number);  // later events are not caused by this fault
}

// The severity changes in steps until the fault ends.
void Injector::Grow(size_t number) {
  const FaultOptions& options = happened_[number].options;
  const SimTime now = network_.engine().Now();
  const SimTime end = std::min(EndOf(options), options_.end);
  if (now >= end) return;
  // The middle of the step, so that the mean over the step is right.
  constexpr SimTime kSteps = 64;
  const SimTime step = std::max<SimTime>(kMicrosecond, (end - options.onset) / kSteps);
  effects_[number].grow(SeverityAt(options, now + step / 2, options_.end));
  if (end - now > step) network_.engine().At(now + step, [this, number] { Grow(number); });
}

void Injector::Finish() {
  for (const size_t number : watched_) Look(number);
}

void Injector::Look(size_t number) {
  const Effect& effect = effects_[number];
  Happened& happened = happened_[number];
  if (effect.affected) happened.affected = effect.affected();
  const bool shows = effect.shows ? effect.shows() : happened.affected >= effect.visible_from;
  if (happened.visible == kNever && shows) happened.visible = network_.engine().Now();
}

// Looks every kLook until the fault ends.
void Injector::Watch(size_t number) {
  if (std::find(watched_.begin(), watched_.end(), number) == watched_.end()) return;
  Look(number);
  network_.engine().At(network_.engine().Now() + kLook, [this, number] { Watch(number); });
}

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/tap_registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace rocescope {
namespace {

std::string NameOf(const std::string& capture, const MirrorLocation& place) {
  std::string name =
      fmt::format("{}/{} session {}", capture, ToString(place.source), place.session);
  if (place.direction == MirrorDirection::kIngress) name += " ingress";
  if (place.direction == MirrorDirection::kEgress) name += " egress";
  if (place.has_port_index) name += fmt::format(" port {}", place.port_index);
  return name;
}

TapSide SideOf(MirrorDirection direction) {
  switch (direction) {
    case MirrorDirection::kIngress:
      return TapSide::kIngress;
    case MirrorDirection::kEgress:
      return TapSide::kEgress;
    case MirrorDirection::kUnknown:
      break;
  }
  return TapSide::kUnknown;
}

}  // namespace

TapRegistry::TapRegistry(const std::vector<std::string>& captures) {
  for (size_t i = 0; i < captures.size(); ++i) {
    taps_.push_back({.name = captures[i], .capture = static_cast<TapId>(i)});
  }
}

std::optional<TapId> TapRegistry::NumberOf(const MirrorLocation& place) {
  const std::lock_guard lock(mutex_);
  const auto known = numbers_.find(place);
  if (known != numbers_.end()) return known->second;
  if (taps_.size() >= kMaximumTaps) return std::nullopt;
  const auto number = static_cast<TapId>(taps_.size());
  taps_.push_back({.name = NameOf(taps_[place.capture].name, place), .capture = place.capture});
  numbers_.emplace(place, number);
  places_.push_back({.tap = number,
                     .switch_address = place.source,
                     .session = place.session,
                     .side = SideOf(place.direction),
                     .has_port = place.has_port_index,
                     .port = place.port_index});
  return number;
}

std::vector<Tap> TapRegistry::Taps() const {
  const std::lock_guard lock(mutex_);
  return taps_;
}

std::vector<TapLocation> TapRegistry::PlacesFrom(size_t number) const {
  const std::lock_guard lock(mutex_);
  const size_t captures = taps_.size() - places_.size();
  const size_t first = std::min(number - std::min(number, captures), places_.size());
  return {places_.begin() + static_cast<ptrdiff_t>(first), places_.end()};
}

size_t TapRegistry::count() const {
  const std::lock_guard lock(mutex_);
  return taps_.size();
}

std::map<MirrorLocation, TapId> TapRegistry::Places() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

}  // namespace rocescope

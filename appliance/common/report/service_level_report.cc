// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <span>
#include <string>
#include <vector>

#include "analytics/service_level/service_level.h"
#include "appliance/api/message_value.h"
#include "appliance/common/report/entity_place.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr size_t kMaxOfAState = 256;

void FillIndicator(const Snapshot& snapshot, ServiceIndicator indicator,
                   const std::vector<const ServiceLevel*>& levels, v1::ServiceIndicator& out) {
  const ServiceIndicatorInfo& info = InfoOf(indicator);
  out.set_name(std::string(info.name));
  out.set_layer(EnumOf<v1::ServiceLayer>(NameOf(info.layer)));
  out.set_unit(std::string(info.unit));
  out.set_violation(info.worse == Worse::kHigh ? v1::ServiceIndicator::VIOLATION_ABOVE
                                               : v1::ServiceIndicator::VIOLATION_BELOW);
  out.set_meaning(std::string(info.sentence));
  std::array<uint64_t, kServiceStateNames.size()> counts{};
  const ServiceLevel* worst = nullptr;
  for (const ServiceLevel* level : levels) {
    ++counts[static_cast<size_t>(level->state)];
    if (level->state == ServiceState::kNoData || level->within_long == 1) continue;
    if (worst == nullptr || IsWorse(*level, *worst)) worst = level;
  }
  const auto count = [&](ServiceState state) { return counts[static_cast<size_t>(state)]; };
  out.set_met_count(count(ServiceState::kMet));
  out.set_at_risk_count(count(ServiceState::kAtRisk));
  out.set_missed_count(count(ServiceState::kMissed));
  out.set_no_data_count(count(ServiceState::kNoData));
  if (worst != nullptr) FillServiceLevel(snapshot, *worst, *out.mutable_worst());
}

}  // namespace

void FillServiceLevel(const Snapshot& snapshot, const ServiceLevel& level, v1::ServiceLevel& out) {
  const ServiceIndicatorInfo& info = InfoOf(level.indicator);
  out.set_indicator(std::string(info.name));
  out.set_layer(EnumOf<v1::ServiceLayer>(NameOf(info.layer)));
  out.set_entity(level.job != ServiceLevel::kNoJob ? snapshot.attribution->jobs[level.job].job.id
                                                   : PlaceOf(*snapshot.fabric, level.entity));
  out.set_state(
      EnumOf<v1::ServiceLevel::State>(kServiceStateNames[static_cast<size_t>(level.state)]));
  if (level.bound) out.set_bound(*level.bound);
  const auto& bounds = snapshot.service_levels->options.bounds;
  out.set_bound_learnt(bounds[static_cast<size_t>(level.indicator)].kind == BoundKind::kLearnt);
  if (level.last) out.set_last_value(*level.last);
  if (level.bound && level.windows > 0) {
    out.set_short_window_ratio(level.within_short);
    out.set_long_window_ratio(level.within_long);
  }
  out.set_window_count(level.windows);
}

void FillServiceIndicators(const Snapshot& snapshot, std::span<const ServiceLevel* const> levels,
                           google::protobuf::RepeatedPtrField<v1::ServiceIndicator>& out) {
  std::array<std::vector<const ServiceLevel*>, kServiceIndicatorCount> by_indicator;
  for (const ServiceLevel* level : levels) {
    by_indicator[static_cast<size_t>(level->indicator)].push_back(level);
  }
  for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
    if (by_indicator[i].empty()) continue;
    FillIndicator(snapshot, static_cast<ServiceIndicator>(i), by_indicator[i], *out.Add());
  }
}

void FillServiceLevels(const Snapshot& snapshot, v1::ReplayReport& report) {
  const ServiceLevels& all = *snapshot.service_levels;
  v1::ServiceLevels& out = *report.mutable_service_levels();
  out.set_objective(all.options.objective);
  out.set_short_window_count(all.options.short_windows);
  out.set_long_window_count(all.options.long_windows);
  std::vector<const ServiceLevel*> levels;
  for (const ServiceLevel& level : all.levels) levels.push_back(&level);
  FillServiceIndicators(snapshot, levels, *out.mutable_indicators());
  uint64_t left_out = 0;
  for (const ServiceState state : {ServiceState::kMissed, ServiceState::kAtRisk}) {
    size_t of_state = 0;
    for (const ServiceLevel& level : all.levels) {
      if (level.state != state) continue;
      if (of_state++ < kMaxOfAState) {
        FillServiceLevel(snapshot, level, *out.add_levels());
      } else {
        ++left_out;
      }
    }
  }
  out.set_omitted_level_count(left_out);
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/metric_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "dataplane/run/entity_check.h"

namespace rocescope {
namespace {

struct DcgmRow {
  const char* name;
  Metric metric;
  uint64_t scale;
};
// From etc/default-counters.csv of NVIDIA's dcgm-exporter; units as in its comments.
constexpr std::array kDcgm = {
    DcgmRow{"DCGM_FI_DEV_GPU_UTIL", Metric::kGpuUtilisation, 1},
    DcgmRow{"DCGM_FI_DEV_SM_CLOCK", Metric::kGpuClock, 1'000'000},  // MHz
    DcgmRow{"DCGM_FI_DEV_GPU_TEMP", Metric::kTemperature, 1},
    DcgmRow{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Metric::kEnergy, 1},  // mJ
    DcgmRow{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Metric::kEccErrors, 1},
};

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool IsWhose(EntityKind kind, const CounterEntity& entity) {
  switch (kind) {
    case EntityKind::kPort:
      return !entity.port.empty() || entity.index != CounterEntity::kNoIndex;
    case EntityKind::kNic:
      return !entity.port.empty();
    default:
      return true;
  }
}

}  // namespace

MetricRules::MetricRules(const std::vector<MetricRule>& more) {
  for (const MetricRule& rule : more) rules_.emplace(rule.from, rule);
  for (size_t kind = 0; kind < kEntityKindCount; ++kind) {
    for (size_t metric = 0; metric < kMetricCount; ++metric) {
      std::string from =
          fmt::format("fabric_{}_{}", kEntityKinds[kind].name, kMetrics[metric].name);
      rules_.emplace(from, MetricRule{.from = from,
                                      .metric = static_cast<Metric>(metric),
                                      .entity = static_cast<EntityKind>(kind)});
    }
  }
  for (const DcgmRow& row : kDcgm) {
    rules_.emplace(row.name, MetricRule{.from = row.name,
                                        .metric = row.metric,
                                        .entity = EntityKind::kGpu,
                                        .node = "Hostname",
                                        .scale = row.scale});
  }
}

std::optional<CounterRecord> MetricRules::Read(const PrometheusSample& sample,
                                               const std::string& node) const {
  const auto at = rules_.find(std::string(sample.name));
  if (at == rules_.end()) return std::nullopt;
  const MetricRule& rule = at->second;
  CounterRecord record;
  record.metric = rule.metric;
  record.entity.kind = rule.entity;
  const std::string_view named = sample.Label(rule.node);
  record.entity.node = named.empty() ? node : std::string(named);
  record.entity.port = sample.Label(rule.port);
  if (rule.entity == EntityKind::kGpu) {
    if (!Parse(sample.Label(rule.gpu), record.entity.index)) return std::nullopt;
  }
  if (const std::string_view priority = sample.Label(rule.priority); !priority.empty()) {
    constexpr uint8_t kPriorities = 8;
    if (!Parse(priority, record.entity.priority) || record.entity.priority >= kPriorities) {
      return std::nullopt;
    }
  }
  const double value = std::round(sample.value * static_cast<double>(rule.scale));
  constexpr double kMost = 18446744073709549568.0;  // the largest double below 2^64
  if (!(value >= 0) || value > kMost) return std::nullopt;
  record.value = static_cast<uint64_t>(value);
  if (record.entity.node.empty() || !IsWhose(rule.entity, record.entity)) return std::nullopt;
  if (std::max(record.entity.node.size(), record.entity.port.size()) > kLongestEntityName) {
    return std::nullopt;
  }
  return record;
}

}  // namespace rocescope

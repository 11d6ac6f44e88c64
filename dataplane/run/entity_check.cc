// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/entity_check.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace rocescope {
namespace {

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kLongestEntityName) return false;
  while (!text.empty()) {
    const uint8_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

tl::unexpected<Error> Invalid(std::string message) {
  return MakeError(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Status CheckCounterEntity(const CounterEntity& entity) {
  if (entity.kind >= EntityKind::kCount) return Invalid("kind: unknown kind of entity");
  if (!entity.agent.IsUnspecified()) {
    return Invalid("entity: expected a name, not the address of an sFlow agent");
  }
  if (!IsName(entity.node)) {
    return Invalid(
        fmt::format("node: expected a name of 1 to {} bytes in UTF-8", kLongestEntityName));
  }
  const bool has_port = entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic;
  if (has_port && !IsName(entity.port)) {
    return Invalid(
        fmt::format("port: expected a name of 1 to {} bytes in UTF-8", kLongestEntityName));
  }
  if (!has_port && !entity.port.empty()) {
    return Invalid(fmt::format("port: a {} has none", InfoOf(entity.kind).name));
  }
  if (entity.priority != CounterEntity::kAllPriorities &&
      (!has_port || entity.priority >= kEntityPriorities)) {
    return Invalid(
        fmt::format("priority: expected 0 to {}, of a port or NIC", kEntityPriorities - 1));
  }
  if (entity.index != CounterEntity::kNoIndex &&
      (entity.kind != EntityKind::kGpu || entity.index > kLargestGpuIndex)) {
    return Invalid(fmt::format("index: expected 0 to {}, of a GPU", kLargestGpuIndex));
  }
  return {};
}

Status CheckMetricsOfReading(std::span<const Metric> metrics) {
  if (metrics.empty()) return Invalid("metrics: expected at least one metric");
  std::array<bool, kMetricCount> seen{};
  for (const Metric metric : metrics) {
    if (metric >= Metric::kCount) return Invalid("metrics: unknown metric");
    if (std::exchange(seen[static_cast<size_t>(metric)], true)) {
      return Invalid(fmt::format("metrics: duplicate metric \"{}\"", InfoOf(metric).name));
    }
  }
  return {};
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "dataplane/run/json_object.h"

namespace rocescope {
namespace {

constexpr size_t kLongestName = 128;
constexpr uint64_t kPriorities = 8;

EntityKind ReadKind(JsonObject& line) {
  const std::string name = line.Text("kind", kLongestName);
  if (const auto kind = EntityKindNamed(name)) return *kind;
  std::string names;
  for (const EntityKindInfo& kind : kEntityKinds) {
    names += names.empty() ? "" : ", ";
    names += kind.name;
  }
  line.Fail(fmt::format("kind: expected one of {}", names));
  return EntityKind::kPort;
}

void ReadEntity(JsonObject& object, CounterEntity& entity) {
  entity.node = object.Text("node", kLongestName);
  if (entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic) {
    entity.port = object.Text("port", kLongestName);
    if (object.Has("priority")) {
      entity.priority = static_cast<uint8_t>(object.Unsigned("priority", 0, kPriorities - 1));
    }
  } else if (entity.kind == EntityKind::kGpu && object.Has("index")) {
    entity.index = static_cast<uint32_t>(object.Unsigned("index", 0, UINT16_MAX));
  }
}

void ReadMetrics(JsonObject& object, CounterLine& line) {
  for (const std::string& name : object.Keys()) {
    const auto metric = MetricNamed(name);
    if (!metric) {
      object.Fail(fmt::format(
          "metrics: unknown metric \"{:.40}\" (known metrics: dataplane/record/metric.h)", name));
      return;
    }
    line.metrics.emplace_back(*metric, object.Unsigned(name, 0, UINT64_MAX));
  }
  if (line.metrics.empty()) object.Fail("metrics: expected at least one metric");
  std::sort(line.metrics.begin(), line.metrics.end());
}

}  // namespace

Result<CounterLine> ParseCounterLine(std::string_view text) {
  const Result<nlohmann::json> json = ParseJsonStrictly(text);
  if (!json) {
    // The caller knows the line number in the file.
    constexpr std::string_view kFirstLine = "line 1, ";
    std::string message = json.error().message;
    if (message.starts_with(kFirstLine)) message.erase(0, kFirstLine.size());
    return MakeError(json.error().code, std::move(message));
  }
  CounterLine line;
  JsonObject object(*json, "");
  const uint64_t time =
      object.Unsigned("time_ns", 0, static_cast<uint64_t>(ToNanoseconds(kLatestTime)));
  line.time = FromNanoseconds(static_cast<int64_t>(time));
  line.entity.kind = ReadKind(object);
  JsonObject entity = object.Object("entity");
  ReadEntity(entity, line.entity);
  object.Adopt(entity);
  JsonObject metrics = object.Object("metrics");
  ReadMetrics(metrics, line);
  object.Adopt(metrics);
  if (const Status finished = object.Finish(); !finished) return tl::unexpected(finished.error());
  return line;
}

void AppendCounterLine(const CounterLine& line, std::string& out) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const auto end = std::back_inserter(out);
  fmt::format_to(end, R"({{"time_ns":{},"kind":"{}","entity":{{"node":{})",
                 ToNanoseconds(line.time), InfoOf(line.entity.kind).name, quoted(line.entity.node));
  if (!line.entity.port.empty()) fmt::format_to(end, R"(,"port":{})", quoted(line.entity.port));
  if (line.entity.priority != CounterEntity::kAllPriorities) {
    fmt::format_to(end, R"(,"priority":{})", line.entity.priority);
  }
  if (line.entity.index != CounterEntity::kNoIndex) {
    fmt::format_to(end, R"(,"index":{})", line.entity.index);
  }
  out += R"(},"metrics":{)";
  const char* separator = "";
  for (const auto& [metric, value] : line.metrics) {
    fmt::format_to(end, R"({}"{}":{})", separator, InfoOf(metric).name, value);
    separator = ",";
  }
  out += "}}\n";
}

}  // namespace rocescope

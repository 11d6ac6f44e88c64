// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "dataplane/run/entity_check.h"
#include "dataplane/run/json_object.h"

namespace rocescope {
namespace {

constexpr size_t kLongestKind = 128;
constexpr auto kLatestNs = static_cast<uint64_t>(ToNanoseconds(kLatestTime));

EntityKind ReadKind(JsonObject& line) {
  const std::string name = line.Text("kind", kLongestKind);
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
  entity.node = object.Text("node", kLongestEntityName);
  if (entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic) {
    entity.port = object.Text("port", kLongestEntityName);
    if (object.Has("priority")) {
      entity.priority = static_cast<uint8_t>(object.Unsigned("priority", 0, kEntityPriorities - 1));
    }
  } else if (entity.kind == EntityKind::kGpu && object.Has("index")) {
    entity.index = static_cast<uint32_t>(object.Unsigned("index", 0, kLargestGpuIndex));
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
  // Millions of lines of another format are rejected without an exception of the parser for each.
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos || text[first] != '{') {
    return MakeError(ErrorCode::kInvalidArgument, "expected a JSON object");
  }
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
  const auto time = [&object](std::string_view key) {
    return FromNanoseconds(static_cast<int64_t>(object.Unsigned(key, 0, kLatestNs)));
  };
  line.time = time("time_ns");
  if (object.Has("arrival_ns")) line.arrival = time("arrival_ns");
  if (line.arrival == line.time) line.arrival.reset();
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

std::string EntityPartOfLine(const CounterEntity& entity) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string out = fmt::format(R"(,"kind":"{}","entity":{{"node":{})", InfoOf(entity.kind).name,
                                quoted(entity.node));
  const auto end = std::back_inserter(out);
  if (!entity.port.empty()) fmt::format_to(end, R"(,"port":{})", quoted(entity.port));
  if (entity.priority != CounterEntity::kAllPriorities) {
    fmt::format_to(end, R"(,"priority":{})", entity.priority);
  }
  if (entity.index != CounterEntity::kNoIndex) fmt::format_to(end, R"(,"index":{})", entity.index);
  out += R"(},"metrics":{)";
  return out;
}

void AppendCounterLine(const CounterLine& line, std::string& out) {
  const auto end = std::back_inserter(out);
  fmt::format_to(end, R"({{"time_ns":{})", ToNanoseconds(line.time));
  if (line.Arrival() != line.time) {
    fmt::format_to(end, R"(,"arrival_ns":{})", ToNanoseconds(line.Arrival()));
  }
  out += EntityPartOfLine(line.entity);
  auto metrics = line.metrics;
  std::sort(metrics.begin(), metrics.end());
  const char* separator = "";
  for (const auto& [metric, value] : metrics) {
    fmt::format_to(end, R"({}"{}":{})", separator, InfoOf(metric).name, value);
    separator = ",";
  }
  out += "}}\n";
}

}  // namespace rocescope

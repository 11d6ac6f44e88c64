// SPDX-License-Identifier: BSD-3-Clause
// Reads which telemetry a run writes.
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/text/name_range.h"
#include "sim/emit/host_files.h"
#include "sim/scenario/loader.h"

namespace rocescope::sim {
namespace {

constexpr std::array<std::string_view, 4> kMirrorPlans = {"leaf", "all", "port_sets", "none"};
constexpr size_t kNoMirror = 3;
constexpr SimTime kLargestClockError = kSecond;
constexpr uint32_t kMostSpans = 10'000;

}  // namespace

void Loader::ReadTelemetry(const YamlNode& node) {
  const YamlMap map(
      node, "telemetry",
      {"mirror", "snap_length", "collector_rate", "int_exponent", "sflow_rate", "sflow_counters",
       "sflow_spans", "counter_period", "recording_steps", "clock_error", "nccl",
       "nccl_queue_pairs", "rdma", "slurm", "profile", "overrides"},
      errors_);
  TelemetryOptions& telemetry = scenario_.telemetry;
  if (const YamlNode* mirrors = map.Find("mirror")) {
    telemetry.mirrors.clear();
    const bool several = mirrors->kind == YamlNode::Kind::kSequence;
    for (const YamlNode& mirror : several ? mirrors->items : std::span(mirrors, 1)) {
      const auto plan = ReadChoice(mirror, kMirrorPlans, errors_);
      if (!plan || *plan == kNoMirror) continue;
      telemetry.mirrors.push_back(static_cast<MirrorPlan>(*plan));
      if (scenario_.model == Model::kFlow) {
        errors_.Add(mirror,
                    "the flow model has no mirrored packets: use mirror: none and sflow_rate, or "
                    "the packet model");
      }
    }
  }
  Number(map, "snap_length", 64, 65'535, telemetry.snap_length);
  Parsed(map, "collector_rate", topology::ParseSpeed, telemetry.collector_rate);
  if (const YamlNode* exponent = map.Find("int_exponent")) {
    const auto read = ReadNumber(*exponent, 0, 32, errors_);
    if (read) telemetry.int_exponent = static_cast<uint32_t>(*read);
    if (scenario_.model == Model::kFlow) {
      errors_.Add(
          *exponent,
          "the flow model has no INT reports: remove int_exponent, or use the packet model");
    }
  }
  ReadSflow(map);
  if (const YamlNode* period = map.Find("counter_period")) {
    Parsed(map, "counter_period", ParseSimTime, telemetry.counter_period);
    if (telemetry.counter_period > 0 && telemetry.counter_period < kShortestPeriod) {
      errors_.Add(*period, "counter_period must be at least 1us, or 0 for no counters");
    }
  }
  if (const YamlNode* steps = map.Find("recording_steps")) {
    Number(map, "recording_steps", 0, UINT32_MAX, telemetry.recording_steps);
    const Status fits = CheckRecordingSteps(scenario_.analysis_window, telemetry.recording_steps);
    if (!fits) errors_.Add(*steps, fits.error().message);
  }
  if (const YamlNode* error = map.Find("clock_error")) {
    Parsed(map, "clock_error", ParseSimTime, telemetry.clock_error);
    if (telemetry.clock_error > kLargestClockError) {
      errors_.Add(*error, "clock_error must be at most 1s");
    }
  }
  Text(map, "profile", telemetry.profile);
  if (const YamlNode* profile = map.Find("profile")) telemetry.profile_place = PlaceOf(*profile);
  if (const YamlNode* overrides = map.Find("overrides")) ReadOverrides(*overrides);
  if (const YamlNode* nccl = map.Find("nccl")) {
    telemetry.nccl_version = std::string(ReadText(*nccl, errors_).value_or(""));
    if (telemetry.nccl_version == "none") {
      telemetry.nccl_version.clear();
    } else if (const auto release = FindNcclRelease(telemetry.nccl_version); !release) {
      errors_.Add(*nccl, release.error().message);
    }
  }
  Flag(map, "nccl_queue_pairs", telemetry.nccl_queue_pairs);
  Flag(map, "rdma", telemetry.rdma);
  Flag(map, "slurm", telemetry.slurm);
}

void Loader::ReadSflow(const YamlMap& map) {
  TelemetryOptions& telemetry = scenario_.telemetry;
  Number(map, "sflow_rate", 0, 1u << 24, telemetry.sflow_rate);
  for (const char* const key : {"sflow_counters", "sflow_spans"}) {
    const YamlNode* const used = map.Find(key);
    if (used != nullptr && telemetry.sflow_rate == 0) {
      errors_.Add(*used, fmt::format("{} needs sflow_rate, without which there is no sFlow", key));
    }
  }
  if (const YamlNode* period = map.Find("sflow_counters")) {
    Parsed(map, "sflow_counters", ParseSimTime, telemetry.sflow_counters);
    if (telemetry.sflow_counters > 0 && telemetry.sflow_counters < kSecond) {
      errors_.Add(*period, "sflow_counters must be at least 1s, or 0 for no counter samples");
    }
  }
  if (const YamlNode* spans = map.Find("sflow_spans")) {
    const YamlMap one(*spans, "sflow_spans", {"length", "random"}, errors_);
    SflowSpans& read = telemetry.sflow_spans.emplace();
    Parsed(one, "length", ParseSimTime, read.length);
    Number(one, "random", 0, kMostSpans, read.random);
    if (read.length <= 0) errors_.Add(*spans, "length must be above 0");
    if (read.length > scenario_.duration) {
      errors_.Add(*spans, "length must not be above the scenario's duration");
    }
  }
}

void Loader::ReadOverrides(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    const YamlMap one(item, "an override", {"nodes", "profile"}, errors_);
    TelemetryOptions::NodesWithProfile read;
    if (const YamlNode* profile = one.Require("profile")) {
      Text(one, "profile", read.profile);
      read.place = PlaceOf(*profile);
    }
    const YamlNode* const nodes = one.Require("nodes");
    if (nodes == nullptr) continue;
    const auto names = topology::ExpandNames(ReadText(*nodes, errors_).value_or(""), kMostNames);
    if (names) {
      read.nodes = *names;
      scenario_.telemetry.overrides.push_back(std::move(read));
    } else {
      errors_.Add(*nodes, names.error().message);
    }
  }
}

}  // namespace rocescope::sim

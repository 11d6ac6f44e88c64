// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/nearest.h"
#include "base/text/name_range.h"
#include "base/text/yaml_fields.h"
#include "dataplane/run/manifest.h"
#include "sim/profile/profile.h"

namespace rocescope::sim {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

constexpr size_t kMaxNames = 1u << 20;
constexpr double kShareTolerance = 1e-6;
constexpr Duration kMaxClockError = std::chrono::seconds(1);  // as in scenarios
constexpr double kMaxLostPolls = 0.99;
constexpr double kMaxBurst = 1e6;
constexpr double kMaxRestarts = 1e6;
constexpr uint64_t kMaxSampling = 1u << 24;

Result<double> ParseReal(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) {
    return value;
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is not a number from {} to {}", text, least, most));
}

// Reads the sections of a profile; collects errors in `errors_`.
class Loader {
 public:
  explicit Loader(std::string_view file) : errors_(std::string(file)) {
    profile_.file = std::string(file);
  }

  Result<Profile> Load(const YamlNode& root);

 private:
  void Real(const YamlMap& map, std::string_view key, double least, double most, double& value) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    const auto parse = [&](std::string_view text) { return ParseReal(text, least, most); };
    value = ReadParsed(*node, parse, errors_).value_or(value);
  }
  void Share(const YamlMap& map, std::string_view key, double& value) {
    Real(map, key, 0, 1, value);
  }
  void Flag(const YamlMap& map, std::string_view key, bool& value) {
    const YamlNode* node = map.Find(key);
    if (node != nullptr) value = ReadBool(*node, errors_).value_or(value);
  }
  void Text(const YamlMap& map, std::string_view key, std::string& value) {
    const YamlNode* node = map.Find(key);
    if (node != nullptr) value = std::string(ReadText(*node, errors_).value_or(value));
  }
  void Time(const YamlMap& map, std::string_view key, Duration& value) {
    const YamlNode* node = map.Find(key);
    if (node != nullptr) value = ReadParsed(*node, ParseProfileTime, errors_).value_or(value);
  }
  // Like Time, but 0 is an error.
  void LongTime(const YamlMap& map, std::string_view key, Duration& value) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    Time(map, key, value);
    if (value <= Duration(0)) errors_.Add(*node, fmt::format("{} must be above 0", key));
  }

  void ReadPoll(const YamlNode& node);
  PollSettings ReadSettings(const YamlMap& map);
  DurationRange ReadRange(const YamlMap& map);
  void ReadVendors(const YamlNode& node);
  std::vector<VendorClass> ReadClasses(const YamlNode& node);
  VendorClass ReadClass(const YamlNode& node);
  std::optional<Metric> MetricAt(const YamlNode& node, bool counters_only);
  MetricSet ReadMetrics(const YamlNode& node, bool counters_only);
  void ReadLoss(const YamlNode& node);
  void ReadLate(const YamlNode& node);
  void ReadTelemetry(const YamlNode& node);

  YamlErrors errors_;
  Profile profile_;
};

// `map` has the keys `least` and `most`, both required.
DurationRange Loader::ReadRange(const YamlMap& map) {
  DurationRange range;
  if (map.Require("least") != nullptr) LongTime(map, "least", range.least);
  if (map.Require("most") != nullptr) LongTime(map, "most", range.most);
  if (range.least > range.most && range.most > Duration(0)) {
    errors_.Add(map.node(), "least must not be above most");
  }
  return range;
}

PollSettings Loader::ReadSettings(const YamlMap& map) {
  PollSettings poll;
  if (map.Require("period") != nullptr) LongTime(map, "period", poll.period);
  if (const YamlNode* phase = map.Find("phase")) {
    constexpr std::array<std::string_view, 2> kPhases = {"together", "random"};
    poll.random_phase = ReadChoice(*phase, kPhases, errors_).value_or(0) == 1;
  }
  if (const YamlNode* jitter = map.Find("jitter")) {
    Time(map, "jitter", poll.jitter);
    if (poll.jitter > poll.period && poll.period > Duration(0)) {
      errors_.Add(*jitter, "jitter must not be above the period");
    }
  }
  if (const YamlNode* refresh = map.Find("refresh")) {
    const YamlMap range(*refresh, "a refresh", {"share", "least", "most"}, errors_);
    poll.cached_share = 1;
    Share(range, "share", poll.cached_share);
    poll.refresh = ReadRange(range);
  }
  return poll;
}

void Loader::ReadPoll(const YamlNode& node) {
  const YamlMap map(node, "poll", {"switches", "nics", "gpus"}, errors_);
  const auto read = [&](std::string_view key, PollSettings& poll) {
    const YamlNode* at = map.Find(key);
    if (at == nullptr) return;
    poll = ReadSettings(YamlMap(*at, key, {"period", "phase", "jitter", "refresh"}, errors_));
  };
  read("switches", profile_.switches);
  read("nics", profile_.nics);
  read("gpus", profile_.gpus);
  if (map.Find("switches") == nullptr && map.Find("nics") == nullptr) {
    errors_.Add(node, "poll needs `switches`, `nics` or both");
  }
}

std::optional<Metric> Loader::MetricAt(const YamlNode& node, bool counters_only) {
  const auto name = ReadText(node, errors_);
  if (!name) return std::nullopt;
  const auto metric = MetricNamed(*name);
  if (!metric) {
    std::vector<std::string_view> names;
    names.reserve(kMetricCount);
    for (const MetricInfo& info : kMetrics) names.push_back(info.name);
    errors_.Add(node, fmt::format("\"{:.40}\" is not a metric{}", *name, DidYouMean(*name, names)));
    return std::nullopt;
  }
  if (counters_only && InfoOf(*metric).kind != MetricKind::kCounter) {
    errors_.Add(node, fmt::format("{} is a gauge; expected a counter", *name));
    return std::nullopt;
  }
  return metric;
}

MetricSet Loader::ReadMetrics(const YamlNode& node, bool counters_only) {
  MetricSet metrics;
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) break;
    const auto metric = MetricAt(item, counters_only);
    if (!metric) continue;
    if (metrics.test(static_cast<size_t>(*metric))) {
      errors_.Add(item, fmt::format("{} is listed twice", InfoOf(*metric).name));
    }
    metrics.set(static_cast<size_t>(*metric));
  }
  return metrics;
}

VendorClass Loader::ReadClass(const YamlNode& node) {
  const YamlMap map(node, "a vendor class",
                    {"name", "share", "missing", "wrap_32_bit", "refresh", "quirk"}, errors_);
  VendorClass vendor;
  if (map.Require("name") != nullptr) Text(map, "name", vendor.name);
  if (map.Require("share") != nullptr) Share(map, "share", vendor.share);
  if (const YamlNode* missing = map.Find("missing")) vendor.missing = ReadMetrics(*missing, false);
  if (const YamlNode* wraps = map.Find("wrap_32_bit")) {
    vendor.wrapping = ReadMetrics(*wraps, true);
    for (size_t i = 0; i < kMetricCount; ++i) {
      if (!vendor.missing.test(i) || !vendor.wrapping.test(i)) continue;
      errors_.Add(*wraps,
                  fmt::format("{} is in `missing`, too: remove one of them", kMetrics[i].name));
    }
  }
  if (const YamlNode* refresh = map.Find("refresh")) {
    vendor.refresh = ReadRange(YamlMap(*refresh, "a refresh", {"least", "most"}, errors_));
  }
  if (const YamlNode* quirk = map.Find("quirk")) {
    const YamlMap fields(*quirk, "a quirk", {"metric", "period"}, errors_);
    Quirk read;
    if (const YamlNode* metric = fields.Require("metric")) {
      read.metric = MetricAt(*metric, true).value_or(read.metric);
    }
    if (fields.Require("period") != nullptr) LongTime(fields, "period", read.period);
    vendor.quirk = read;
    if (vendor.missing.test(static_cast<size_t>(read.metric))) {
      errors_.Add(*quirk, fmt::format("{} is in `missing`, too: remove one of them",
                                      InfoOf(read.metric).name));
    }
  }
  return vendor;
}

std::vector<VendorClass> Loader::ReadClasses(const YamlNode& node) {
  std::vector<VendorClass> classes;
  double shares = 0;
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) break;
    VendorClass vendor = ReadClass(item);
    if (std::ranges::find(classes, vendor.name, &VendorClass::name) != classes.end()) {
      errors_.Add(item,
                  fmt::format("two vendor classes have the same name, {}: use different names",
                              vendor.name));
    }
    classes.push_back(std::move(vendor));
    shares += classes.back().share;
  }
  if (std::abs(shares - 1) > kShareTolerance) {
    errors_.Add(
        node, fmt::format("the shares of the vendor classes must add up to 1, not {:.6g}", shares));
  }
  return classes;
}

void Loader::ReadVendors(const YamlNode& node) {
  const YamlMap map(node, "vendors", {"switches", "nics"}, errors_);
  if (const YamlNode* at = map.Find("switches")) profile_.switch_vendors = ReadClasses(*at);
  if (const YamlNode* at = map.Find("nics")) profile_.nic_vendors = ReadClasses(*at);
}

void Loader::ReadLoss(const YamlNode& node) {
  const YamlMap map(node, "loss", {"readings", "polls", "burst"}, errors_);
  Share(map, "readings", profile_.lost_readings);
  Real(map, "polls", 0, kMaxLostPolls, profile_.lost_polls);
  Real(map, "burst", 1, kMaxBurst, profile_.lost_poll_burst);
  // The chance to enter a burst from the good state, which gives the share in the long run.
  const double enter = profile_.lost_polls / (profile_.lost_poll_burst * (1 - profile_.lost_polls));
  if (enter > 1) {
    errors_.Add(node,
                fmt::format("a share of {} lost polls needs a burst of at least {:.3g}",
                            profile_.lost_polls, profile_.lost_polls / (1 - profile_.lost_polls)));
  }
}

void Loader::ReadLate(const YamlNode& node) {
  const YamlMap map(node, "late", {"share", "least", "most"}, errors_);
  if (map.Require("share") != nullptr) Share(map, "share", profile_.late);
  profile_.lateness = ReadRange(map);
}

void Loader::ReadTelemetry(const YamlNode& node) {
  const YamlMap map(node, "telemetry",
                    {"mirror", "mirror_sampling", "int", "sflow", "nccl", "rdma", "slurm"},
                    errors_);
  if (const YamlNode* mirror = map.Find("mirror")) {
    constexpr std::array<std::string_view, 3> kMirrors = {"none", "leaf", "all"};
    const auto choice = ReadChoice(*mirror, kMirrors, errors_);
    if (choice) profile_.mirror = static_cast<Profile::Mirror>(*choice);
  }
  if (const YamlNode* sampling = map.Find("mirror_sampling")) {
    const auto read = topology::ReadNumber(*sampling, 1, kMaxSampling, errors_);
    if (read) profile_.mirror_sampling = static_cast<uint32_t>(*read);
    if (profile_.mirror == Profile::Mirror::kNone) {
      errors_.Add(*sampling,
                  "mirror_sampling has no effect with `mirror: none`: remove one of them");
    }
  }
  Flag(map, "int", profile_.int_reports);
  Flag(map, "sflow", profile_.sflow);
  Flag(map, "nccl", profile_.nccl);
  Flag(map, "rdma", profile_.rdma);
  Flag(map, "slurm", profile_.slurm);
}

Result<Profile> Loader::Load(const YamlNode& root) {
  const YamlMap map(root, "a profile",
                    {"name", "about", "poll", "vendors", "priorities", "timestamps", "response",
                     "clock_error", "loss", "late", "reordered", "duplicates", "restarts_per_day",
                     "start_values", "counters_after_reboot", "unread", "telemetry"},
                    errors_);
  if (const YamlNode* name = map.Require("name")) {
    profile_.name = ReadName(*name, RunManifest::kLongestName, errors_).value_or("");
  }
  Text(map, "about", profile_.about);
  if (const YamlNode* poll = map.Require("poll")) ReadPoll(*poll);
  if (const YamlNode* vendors = map.Find("vendors")) ReadVendors(*vendors);
  if (const YamlNode* priorities = map.Find("priorities")) {
    const YamlMap flags(*priorities, "priorities", {"switches", "nics"}, errors_);
    Flag(flags, "switches", profile_.switch_priorities);
    Flag(flags, "nics", profile_.nic_priorities);
  }
  if (const YamlNode* timestamps = map.Find("timestamps")) {
    constexpr std::array<std::string_view, 2> kSources = {"arrival", "device"};
    profile_.device_timestamps = ReadChoice(*timestamps, kSources, errors_).value_or(1) == 1;
  }
  Time(map, "response", profile_.response);
  Time(map, "clock_error", profile_.clock_error);
  if (profile_.clock_error > kMaxClockError) {
    errors_.Add(*map.Find("clock_error"), "clock_error must be from 0 to 1s");
  }
  if (const YamlNode* loss = map.Find("loss")) ReadLoss(*loss);
  if (const YamlNode* late = map.Find("late")) ReadLate(*late);
  Share(map, "reordered", profile_.reordered);
  Share(map, "duplicates", profile_.duplicates);
  Real(map, "restarts_per_day", 0, kMaxRestarts, profile_.restarts_per_day);
  if (const YamlNode* start = map.Find("start_values")) {
    constexpr std::array<std::string_view, 2> kStarts = {"zero", "random"};
    profile_.random_start_values = ReadChoice(*start, kStarts, errors_).value_or(0) == 1;
  }
  if (const YamlNode* reboot = map.Find("counters_after_reboot")) {
    constexpr std::array<std::string_view, 2> kAfter = {"zero", "kept"};
    profile_.counters_survive_reboots = ReadChoice(*reboot, kAfter, errors_).value_or(0) == 1;
  }
  if (const YamlNode* unread = map.Find("unread")) {
    const YamlMap shares(*unread, "unread", {"switches", "hosts"}, errors_);
    Share(shares, "switches", profile_.unread_switches);
    Share(shares, "hosts", profile_.unread_hosts);
  }
  if (const YamlNode* telemetry = map.Find("telemetry")) ReadTelemetry(*telemetry);
  Duration shortest = Duration::max();
  for (const Duration period :
       {profile_.switches.period, profile_.nics.period, profile_.gpus.period}) {
    if (period > Duration(0)) shortest = std::min(shortest, period);
  }
  if (const YamlNode* response = map.Find("response");
      response != nullptr && profile_.response > shortest) {
    errors_.Add(*response, "response must not be above the period of switches, NICs or GPUs");
  }
  if (!errors_.empty()) return tl::unexpected(errors_.Take());
  return std::move(profile_);
}

}  // namespace

Result<Duration> ParseProfileTime(std::string_view text) {
  struct Unit {
    std::string_view name;
    double nanoseconds;
  };
  constexpr std::array<Unit, 7> kUnits = {{{"ns", 1},
                                           {"us", 1e3},
                                           {"ms", 1e6},
                                           {"s", 1e9},
                                           {"min", 60e9},
                                           {"h", 3600e9},
                                           {"d", 86'400e9}}};
  constexpr double kMost = 30 * 86'400e9;
  if (text == "0") return Duration(0);
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string_view name(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return each.name == name; });
  const double ns = unit == kUnits.end() ? -1 : value * unit->nanoseconds;
  if (error != std::errc() || !(value >= 0) || !(ns >= 0 && ns <= kMost)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{:.40}\" is not a time from 0 to 30d: expected a value such as "
                                 "30s, 500ms or 2h",
                                 text));
  }
  return Duration(std::llround(ns));
}

Result<Profile> LoadProfile(std::string_view text, std::string_view file) {
  const auto root = topology::ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  return Loader(file).Load(*root);
}

}  // namespace rocescope::sim

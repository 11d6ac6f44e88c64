// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/nearest.h"
#include "sim/profile/poller.h"

namespace rocescope::sim {
namespace {

constexpr double kDayNs = 86'400e9;
constexpr size_t kGroups = 3;

PollGroup GroupOf(EntityKind kind) {
  switch (kind) {
    case EntityKind::kPort:
      return PollGroup::kSwitch;
    case EntityKind::kNic:
      return PollGroup::kNic;
    case EntityKind::kGpu:
    case EntityKind::kHost:
    case EntityKind::kCount:
      break;
  }
  return PollGroup::kGpu;
}

// Upper bounds of what counters show after some months of operation.
uint64_t StartBound(Metric metric) {
  switch (metric) {
    case Metric::kRxBytes:
    case Metric::kTxBytes:
      return uint64_t{1} << 50;
    case Metric::kRxPackets:
    case Metric::kTxPackets:
      return uint64_t{1} << 40;
    case Metric::kPfcRxTime:
    case Metric::kPfcTxTime:
      return uint64_t{1} << 46;  // ns: about 20 hours
    case Metric::kPfcRx:
    case Metric::kPfcTx:
    case Metric::kEcnMarked:
    case Metric::kEcnMarkedRoce:
    case Metric::kCnpSent:
    case Metric::kCnpHandled:
      return uint64_t{1} << 30;
    case Metric::kCpuBusy:
    case Metric::kCpuIdle:
    case Metric::kGpuBusy:
    case Metric::kGpuMemoryBusy:
    case Metric::kEnergy:
      return uint64_t{1} << 34;
    default:
      return uint64_t{1} << 10;  // errors, drops and rare events
  }
}

class Maker {
 public:
  Maker(const ExactCounters& exact, const Profile& profile, const TransformOptions& options,
        TransformReport& report)
      : exact_(exact), profile_(profile), options_(options), report_(report) {}

  Result<std::vector<Poller>> Make();

 private:
  Status CheckTimes(const Profile& profile) const;
  Status CheckOverrides() const;
  const Profile& ProfileOf(const std::string& node) const;
  const VendorClass& VendorOf(const Profile& profile, topology::NodeIndex node,
                              PollGroup group) const;
  bool IsUnread(const Profile& profile, topology::NodeIndex node, PollGroup group) const;
  Duration DrawRefresh(const PollSettings& poll, const VendorClass& vendor, uint64_t number) const;
  std::optional<PolledEntity> Convert(const Profile& profile, uint32_t index,
                                      const VendorClass& vendor) const;

  Duration Scaled(Duration time) const { return ScaledTime(time, options_.scale); }

  const ExactCounters& exact_;
  const Profile& profile_;
  const TransformOptions& options_;
  TransformReport& report_;
};

Status Maker::CheckTimes(const Profile& profile) const {
  const Duration length = exact_.end() - exact_.begin();
  const auto check = [&](std::string_view setting, std::string_view what, Duration time) -> Status {
    if (Scaled(time) <= length) return {};
    const auto seconds = [](Duration t) { return static_cast<double>(t.count()) / 1e9; };
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the {} of {}, {:.6g} s, is longer than the run of {:.6g} s (times are "
                    "multiplied by {:.3g}); use a longer run or another profile",
                    profile.file, setting, what, seconds(time), seconds(length), options_.scale));
  };
  for (const auto& [what, poll] :
       {std::pair("switches", &profile.switches), std::pair("nics", &profile.nics),
        std::pair("gpus", &profile.gpus)}) {
    if (Status period = check("period", what, poll->period); !period) return period;
    constexpr int64_t kMostPolls = 10'000'000;  // by device
    if (poll->period > Duration(0) &&
        length / std::max(Duration(1), Scaled(poll->period)) > kMostPolls) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: the period of {}, {} ns, would result in more than {} polls "
                      "of each of them; use a longer period",
                      profile.file, what, poll->period.count(), kMostPolls));
    }
    if (poll->cached_share <= 0) continue;
    if (Status refresh = check("refresh period", what, poll->refresh.most); !refresh) {
      return refresh;
    }
  }
  for (const auto* vendors : {&profile.switch_vendors, &profile.nic_vendors}) {
    for (const VendorClass& vendor : *vendors) {
      if (!vendor.refresh) continue;
      Status refresh = check("refresh period", "vendor class " + vendor.name, vendor.refresh->most);
      if (!refresh) return refresh;
    }
  }
  return {};
}

Status Maker::CheckOverrides() const {
  std::vector<std::string_view> names;
  for (const ExactCounters::Entity& entity : exact_.entities()) names.push_back(entity.entity.node);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::set<std::string_view> seen;
  for (const ProfileOverride& override : options_.overrides) {
    for (const std::string& name : override.nodes) {
      if (!std::binary_search(names.begin(), names.end(), std::string_view(name))) {
        return MakeError(
            ErrorCode::kInvalidArgument,
            fmt::format("override with the profile {}: the run has no node \"{}\" with "
                        "counters{}",
                        override.profile.name, name, DidYouMean(name, names)));
      }
      if (!seen.insert(name).second) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("two overrides have the node \"{}\"", name));
      }
    }
  }
  return {};
}

const Profile& Maker::ProfileOf(const std::string& node) const {
  for (const ProfileOverride& override : options_.overrides) {
    if (std::find(override.nodes.begin(), override.nodes.end(), node) != override.nodes.end()) {
      return override.profile;
    }
  }
  return profile_;
}

const PollSettings& SettingsOf(const Profile& profile, PollGroup group) {
  switch (group) {
    case PollGroup::kSwitch:
      return profile.switches;
    case PollGroup::kNic:
      return profile.nics;
    case PollGroup::kGpu:
      break;
  }
  return profile.gpus;
}

const VendorClass& Maker::VendorOf(const Profile& profile, topology::NodeIndex node,
                                   PollGroup group) const {
  static const VendorClass no_vendor;
  if (group == PollGroup::kGpu) return no_vendor;
  const auto& classes = group == PollGroup::kSwitch ? profile.switch_vendors : profile.nic_vendors;
  double rest = Random(options_.seed, "vendor", node).Uniform();
  for (const VendorClass& vendor : classes) {
    rest -= vendor.share;
    if (rest < 0) return vendor;
  }
  return classes.back();  // the shares add up to slightly less than 1
}

bool Maker::IsUnread(const Profile& profile, topology::NodeIndex node, PollGroup group) const {
  return Random(options_.seed, "unread", node)
      .Chance(group == PollGroup::kSwitch ? profile.unread_switches : profile.unread_hosts);
}

Duration Maker::DrawRefresh(const PollSettings& poll, const VendorClass& vendor,
                            uint64_t number) const {
  Random random(options_.seed, "refresh", number);
  if (vendor.refresh) return Scaled(DrawTime(*vendor.refresh, random));
  return random.Chance(poll.cached_share) ? Scaled(DrawTime(poll.refresh, random)) : Duration(0);
}

// Returns nullopt if the device does not report the entity.
std::optional<PolledEntity> Maker::Convert(const Profile& profile, uint32_t index,
                                           const VendorClass& vendor) const {
  const ExactCounters::Entity& from = exact_.entities()[index];
  if (from.entity.priority != CounterEntity::kAllPriorities &&
      !(from.entity.kind == EntityKind::kPort ? profile.switch_priorities
                                              : profile.nic_priorities)) {
    return std::nullopt;
  }
  PolledEntity entity;
  entity.index = index;
  entity.entity = &from.entity;
  Random random(options_.seed, "start value", index);
  entity.outages = exact_.OutagesOf(index);
  bool is_exact =
      profile.restarts_per_day <= 0 && (profile.counters_survive_reboots || entity.outages.empty());
  for (uint32_t i = 0; i < from.metrics.size(); ++i) {
    const auto metric = static_cast<size_t>(from.metrics[i]);
    if (vendor.missing[metric]) {
      is_exact = false;
      continue;
    }
    PolledEntity::Conversion conversion{
        .source = i, .is_counter = InfoOf(from.metrics[i]).kind == MetricKind::kCounter};
    if (vendor.wrapping[metric]) conversion.mask = UINT32_MAX;
    if (profile.random_start_values && conversion.is_counter) {
      conversion.offset =
          random.Below(vendor.wrapping[metric] ? uint64_t{1} << 32 : StartBound(from.metrics[i]));
    }
    is_exact = is_exact && conversion.mask == UINT64_MAX && conversion.offset == 0;
    const bool has_quirk = vendor.quirk && vendor.quirk->metric == from.metrics[i] &&
                           from.entity.priority == CounterEntity::kAllPriorities;
    if (has_quirk) {
      is_exact = false;
      const Duration period = Scaled(vendor.quirk->period);
      entity.quirk = {.value = entity.metrics.size(),
                      .period = period,
                      .phase = DrawTime({.least = Duration(0), .most = period}, random)};
    }
    entity.metrics.push_back(from.metrics[i]);
    entity.conversions.push_back(conversion);
  }
  if (entity.metrics.empty()) return std::nullopt;
  if (is_exact) entity.conversions.clear();
  entity.values.resize(entity.metrics.size());
  return entity;
}

Result<std::vector<Poller>> Maker::Make() {
  if (Status fits = CheckTimes(profile_); !fits) return tl::unexpected(fits.error());
  for (const ProfileOverride& override : options_.overrides) {
    if (Status fits = CheckTimes(override.profile); !fits) return tl::unexpected(fits.error());
  }
  if (Status known = CheckOverrides(); !known) return tl::unexpected(known.error());

  std::map<std::pair<topology::NodeIndex, PollGroup>, std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < exact_.entities().size(); ++i) {
    const ExactCounters::Entity& entity = exact_.entities()[i];
    groups[{entity.node, GroupOf(entity.entity.kind)}].push_back(i);
  }
  report_.poller_of.resize(exact_.entities().size());
  std::vector<Poller> pollers;
  for (const auto& [key, indices] : groups) {
    const auto [node, group] = key;
    const std::string& name = exact_.entities()[indices.front()].entity.node;
    const Profile& profile = ProfileOf(name);
    const PollSettings& poll = SettingsOf(profile, group);
    const VendorClass& vendor = VendorOf(profile, node, group);
    if (profile.device_timestamps) {
      report_.greatest_clock_error =
          std::max(report_.greatest_clock_error, Scaled(profile.clock_error));
    }
    const uint64_t number = uint64_t{node} * kGroups + static_cast<uint64_t>(group);
    const double clock = 2 * Random(options_.seed, "poller clock", node).Uniform() - 1;
    PollerReport report{.node = node,
                        .name = name,
                        .group = group,
                        .vendor = vendor.name,
                        .is_read = poll.period > Duration(0) && !IsUnread(profile, node, group),
                        .period = Scaled(poll.period),
                        .refresh = DrawRefresh(poll, vendor, number),
                        .clock_offset = Duration(static_cast<int64_t>(
                            clock * static_cast<double>(Scaled(profile.clock_error).count())))};
    if (!profile.device_timestamps) report.clock_offset = Duration(0);  // the poller's clock
    report.missing = vendor.missing;
    if (group == PollGroup::kSwitch && !profile.switch_priorities) {
      report.missing.set(static_cast<size_t>(Metric::kQueueBytes));
    }
    report.wrapping = vendor.wrapping;
    report.quirk = vendor.quirk;
    if (report.quirk) report.quirk->period = Scaled(report.quirk->period);
    const Duration response = Scaled(profile.response);
    report.staleness = report.refresh + (profile.device_timestamps ? Duration(0) : response);
    const auto report_index = static_cast<uint32_t>(report_.pollers.size());
    std::vector<PolledEntity> entities;
    for (const uint32_t index : indices) {
      report_.poller_of[index] = report_index;
      if (!report.is_read) continue;
      if (auto entity = Convert(profile, index, vendor)) entities.push_back(*std::move(entity));
    }
    if (!entities.empty()) {
      pollers.emplace_back(
          Poller::Options{.schedule = {.begin = exact_.begin(),
                                       .period = report.period,
                                       .jitter = Scaled(poll.jitter),
                                       .response = response,
                                       .refresh = report.refresh,
                                       .random_phase = poll.random_phase,
                                       .lost_polls = profile.lost_polls,
                                       .lost_poll_burst = profile.lost_poll_burst,
                                       .seed = options_.seed,
                                       .number = number},
                          .profile = &profile,
                          .clock_offset = report.clock_offset,
                          .restarts_per_ns = profile.restarts_per_day / (kDayNs * options_.scale),
                          .number = report_index},
          std::move(entities));
    }
    report_.pollers.push_back(std::move(report));
  }
  return pollers;
}

}  // namespace

std::string_view NameOf(PollGroup group) {
  switch (group) {
    case PollGroup::kSwitch:
      return "switch";
    case PollGroup::kNic:
      return "nic";
    case PollGroup::kGpu:
      break;
  }
  return "gpu";
}

Result<std::vector<Poller>> MakePollers(const ExactCounters& exact, const Profile& profile,
                                        const TransformOptions& options, TransformReport& report) {
  return Maker(exact, profile, options, report).Make();
}

}  // namespace rocescope::sim

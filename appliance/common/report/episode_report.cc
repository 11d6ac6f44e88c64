// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/episode_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "analytics/dependency/job_ports.h"
#include "appliance/api/message_value.h"
#include "appliance/common/report/entity_place.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr size_t kMaxPlaces = 64;

v1::AnomalyEpisode::Kind MessageOf(EpisodeKind kind) {
  switch (kind) {
    case EpisodeKind::kJobStarted:
      return v1::AnomalyEpisode::KIND_JOB_STARTED;
    case EpisodeKind::kJobPaused:
      return v1::AnomalyEpisode::KIND_JOB_PAUSED;
    case EpisodeKind::kJobStopped:
      return v1::AnomalyEpisode::KIND_JOB_STOPPED;
    case EpisodeKind::kJobEnded:
      return v1::AnomalyEpisode::KIND_JOB_ENDED;
    case EpisodeKind::kJobTrafficChanged:
      return v1::AnomalyEpisode::KIND_JOB_TRAFFIC_CHANGED;
    case EpisodeKind::kChangedTogether:
      return v1::AnomalyEpisode::KIND_CHANGED_TOGETHER;
    case EpisodeKind::kFellAlone:
      return v1::AnomalyEpisode::KIND_FELL_ALONE;
  }
  return v1::AnomalyEpisode::KIND_UNSPECIFIED;
}

// "08:12:15", or with milliseconds if windows are shorter than a second.
std::string TimeText(Timestamp time) {
  std::string text = UtcTime(time.time_since_epoch().count());
  constexpr std::string_view kWhole = ".000";
  if (text.ends_with(kWhole)) text.resize(text.size() - kWhole.size());
  return text;
}

std::string RateText(double bytes_per_second) {
  return HumanBytes(static_cast<uint64_t>(std::max(bytes_per_second, 0.0))) + "/s";
}

topology::NodeIndex NodeOf(const topology::Fabric& fabric, const Entity& entity) {
  switch (entity.kind) {
    case EntityKind::kPort:
      return fabric.port(entity.index).node;
    case EntityKind::kNic:
      return fabric.nic(entity.index).host;
    case EntityKind::kGpu:
      return entity.all_gpus ? entity.index : fabric.gpu(entity.index).host;
    case EntityKind::kHost:
    case EntityKind::kCount:
      break;
  }
  return entity.index;
}

// "12 ports of leaf0", "12 ports and 12 NICs".
std::string EntitiesText(const topology::Fabric& fabric, const std::vector<Entity>& entities) {
  constexpr std::array<std::string_view, kEntityKindCount> kNouns = {"port", "NIC", "GPU", "host"};
  std::array<std::set<uint32_t>, kEntityKindCount> indices;
  std::set<topology::NodeIndex> nodes;
  for (const Entity& entity : entities) {
    // All GPUs of a host are an entity in addition to each of them.
    const uint32_t index = entity.all_gpus ? ~entity.index : entity.index;
    indices[static_cast<size_t>(entity.kind)].insert(index);
    nodes.insert(NodeOf(fabric, entity));
  }
  std::string text;
  for (size_t kind = 0; kind < kEntityKindCount; ++kind) {
    if (indices[kind].empty()) continue;
    text += (text.empty() ? "" : " and ") + Counted(indices[kind].size(), kNouns[kind]);
  }
  const bool is_one = nodes.size() == 1 && entities.front().kind != EntityKind::kHost;
  return is_one ? fmt::format("{} of {}", text, fabric.node(*nodes.begin()).name) : text;
}

std::vector<topology::PortIndex> PortsOf(const topology::Fabric& fabric, const Episode& episode) {
  std::vector<topology::PortIndex> ports;
  for (const Entity& entity : episode.entities) {
    if (entity.kind == EntityKind::kPort) ports.push_back(entity.index);
    if (entity.kind == EntityKind::kNic) ports.push_back(fabric.nic(entity.index).port);
  }
  return ports;
}

}  // namespace

std::string EpisodeSentence(const topology::Fabric& fabric, const Episode& episode,
                            const std::string& job) {
  const std::string who = job.empty() ? fmt::format("inferred job {}", episode.job) : "job " + job;
  const std::string where = EntitiesText(fabric, episode.entities);
  const std::string from = TimeText(episode.from);
  const std::string until = TimeText(episode.until);
  const std::string rates =
      fmt::format("from {} to {}", RateText(episode.before), RateText(episode.after));
  switch (episode.kind) {
    case EpisodeKind::kJobStarted:
      return fmt::format("{} started on {} at {}", who, where, from);
    case EpisodeKind::kJobPaused:
      if (episode.count == 1) {
        return fmt::format("{} paused on {} from {} to {}", who, where, from, until);
      }
      return fmt::format("{} paused {} on {} between {} and {}, {} in total", who,
                         Counted(episode.count, "time"), where, from, until,
                         HumanDuration(episode.paused.count()));
    case EpisodeKind::kJobStopped:
      return fmt::format("{} stopped on {} at {}: it paused or ended", who, where, from);
    case EpisodeKind::kJobEnded:
      return fmt::format("{} ended on {} at {}", who, where, from);
    case EpisodeKind::kJobTrafficChanged:
      if (episode.count == 1) {
        return fmt::format("traffic of {} changed on {} at {}, {} per port", who, where, from,
                           rates);
      }
      return fmt::format("traffic of {} changed {} on {} between {} and {}", who,
                         Counted(episode.count, "time"), where, from, until);
    case EpisodeKind::kChangedTogether: {
      const bool is_traffic = episode.metric == Metric::kTxBytes;
      return fmt::format("{} {} on {} together from {} to {}",
                         is_traffic ? "traffic" : InfoOf(episode.metric).name,
                         episode.up ? "rose" : "fell", where, from, until);
    }
    case EpisodeKind::kFellAlone: {
      const Entity& entity = episode.entities.front();
      const std::string times =
          episode.count == 1 ? "" : fmt::format(" {} since", Counted(episode.count, "time"));
      return fmt::format("traffic of {} {} fell alone{}{} {}, {}", InfoOf(entity.kind).name,
                         PlaceOf(fabric, entity), times, times.empty() ? " at" : "", from, rates);
    }
  }
  return "";
}

void FillEpisodes(const Snapshot& snapshot, v1::Anomalies& out) {
  const Anomalies& all = *snapshot.anomalies;
  if (all.episodes.empty()) return;  // always without a topology
  const topology::Fabric& fabric = *snapshot.fabric;
  std::vector<uint32_t> explained(all.episodes.size());
  for (const Anomaly& anomaly : all.anomalies) {
    if (anomaly.episode != 0) ++explained[anomaly.episode - 1];
  }
  const JobPorts jobs(fabric, *snapshot.attribution);
  for (size_t i = 0; i < all.episodes.size(); ++i) {
    const Episode& episode = all.episodes[i];
    v1::AnomalyEpisode& one = *out.add_episodes();
    one.set_kind(MessageOf(episode.kind));
    std::string name;
    const auto job = episode.job == 0 ? std::nullopt : jobs.JobOf(PortsOf(fabric, episode));
    if (job) {
      const Job& known = snapshot.attribution->jobs[*job].job;
      one.set_job_id(known.id);
      name = known.id;
      if (known.allocation) {
        name += fmt::format(
            " [slurm {}{}]", known.allocation->id,
            known.allocation->name.empty() ? "" : fmt::format(" \"{}\"", known.allocation->name));
      }
    }
    one.set_sentence(EpisodeSentence(fabric, episode, name));
    one.set_inferred_job(episode.job);
    *one.mutable_start_time() = TimestampMessage(episode.from);
    *one.mutable_end_time() = TimestampMessage(episode.until);
    one.set_count(episode.count);
    *one.mutable_paused_duration() = DurationMessage(episode.paused);
    for (const Entity& entity : episode.entities) {
      if (one.places_size() == static_cast<int>(kMaxPlaces)) break;
      one.add_places(PlaceOf(fabric, entity));
    }
    one.set_place_count(static_cast<uint32_t>(episode.entities.size()));
    one.set_bytes_per_second_before(episode.before);
    one.set_bytes_per_second_after(episode.after);
    if (episode.kind == EpisodeKind::kChangedTogether) {
      one.set_metric(std::string(InfoOf(episode.metric).name));
      one.set_rose(episode.up);
    }
    one.set_anomaly_count(explained[i]);
  }
}

}  // namespace rocescope

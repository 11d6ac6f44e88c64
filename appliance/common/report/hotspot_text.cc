// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Returns "nccl-1 70 %, wire-2 10 %": the jobs whose flows fill the queue.
std::string JobsOf(const v1::Hotspot& hotspot) {
  std::map<std::string, double> shares;
  for (const v1::Culprit& culprit : hotspot.culprits()) shares[culprit.job_id()] += culprit.share();
  std::vector<std::pair<double, std::string>> jobs;
  for (const auto& [job, share] : shares) jobs.emplace_back(-share, job);
  std::ranges::sort(jobs);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(jobs.size(), 3); ++i) {
    text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ",
                        jobs[i].second.empty() ? "no job" : Visible(jobs[i].second),
                        -100 * jobs[i].first);
  }
  return text;
}

std::string CauseOf(const v1::Hotspot& hotspot) {
  const auto group = [&] {
    return fmt::format(" ({} parallel links, together {:.0f} % utilised)",
                       hotspot.group_link_count(), 100 * hotspot.group_utilization());
  };
  if (hotspot.cause() == v1::Hotspot::CAUSE_PAUSED) return "paused by PFC";
  if (hotspot.cause() == v1::Hotspot::CAUSE_INCAST) return "incast";
  if (hotspot.cause() == v1::Hotspot::CAUSE_ONE_SENDER) return "one sender";
  if (hotspot.cause() == v1::Hotspot::CAUSE_COLLISION) return "hash collision" + group();
  if (hotspot.cause() == v1::Hotspot::CAUSE_OVERLOAD) return "overload" + group();
  return "";
}

// Returns the job with the highest cost, or null.
const v1::LostTime* MostLost(const v1::Hotspot& hotspot) {
  const v1::LostTime* most = nullptr;
  for (const v1::LostTime& lost : hotspot.lost_times()) {
    if (Nanoseconds(lost.lost_duration()) >
        (most == nullptr ? 0 : Nanoseconds(most->lost_duration())))
      most = &lost;
  }
  return most;
}

// Returns "train 1.2 ms".
std::string CostsOf(const v1::Hotspot& hotspot) {
  const v1::LostTime* most = MostLost(hotspot);
  if (most == nullptr) return "";
  return fmt::format("{} {}", Visible(most->job_id()),
                     HumanDuration(Nanoseconds(most->lost_duration())));
}

// Orders hotspots with the highest cost first.
bool IsWorse(const v1::Hotspot* a, const v1::Hotspot* b) {
  const auto key = [](const v1::Hotspot* one) {
    const v1::LostTime* most = MostLost(*one);
    return std::tuple(one->dropped_packets(),
                      most == nullptr ? 0 : Nanoseconds(most->lost_duration()),
                      Nanoseconds(one->paused_duration()), one->ce_marked_packets());
  };
  if (key(a) != key(b)) return key(a) > key(b);
  return std::tuple(Nanoseconds(a->start_time()), a->port(), a->has_priority(), a->priority()) <
         std::tuple(Nanoseconds(b->start_time()), b->port(), b->has_priority(), b->priority());
}

}  // namespace

void AppendHotspots(const v1::ReplayReport& report, std::string& text) {
  if (report.hotspots().empty()) return;
  std::vector<const v1::Hotspot*> hotspots;
  std::set<std::string> ports;
  for (const v1::Hotspot& hotspot : report.hotspots()) {
    hotspots.push_back(&hotspot);
    ports.insert(hotspot.port());
  }
  std::ranges::sort(hotspots, IsWorse);
  const bool any_paused = std::ranges::any_of(hotspots, [](const v1::Hotspot* hotspot) {
    return Nanoseconds(hotspot->paused_duration()) > 0;
  });
  const bool any_lost = std::ranges::any_of(
      hotspots, [](const v1::Hotspot* hotspot) { return MostLost(*hotspot) != nullptr; });
  text += fmt::format(
      "HOTSPOTS: {} with congested queues, {} in total (hotspots are not faults: healthy "
      "collectives congest queues, too)\n"
      "\n"
      "  Sorted by dropped packets, then by the longest delay of a job. PEAK is the maximum queue "
      "occupancy, CE the number of CE marks, FLOWS the number of flows through the port. JOBS "
      "shows "
      "each job's share of the bytes (largest flows only).{}{}\n"
      "\n",
      Counted(ports.size(), "port"), Counted(hotspots.size(), "hotspot"),
      any_paused ? " PAUSED is how long the neighbour paused the queue by PFC." : "",
      any_lost ? " MAX JOB DELAY is an upper bound of the delay of a job." : "");
  TextTable table({{"QUEUE"},
                   {"PRIORITY", Align::kRight, 3},
                   {"SINCE", Align::kRight},
                   {"DURATION", Align::kRight},
                   {"PEAK", Align::kRight},
                   {"CE", Align::kRight, 2},
                   {"DROPPED", Align::kRight},
                   {"PAUSED", Align::kRight, 1},
                   {"FLOWS", Align::kRight, 4},
                   {"JOBS"},
                   {"MAX JOB DELAY"},
                   {"CAUSE"}});
  int rows = 0;
  for (const v1::Hotspot* hotspot : hotspots) {
    if (rows++ == kMaxRows) break;
    table.Add({hotspot->port(), hotspot->has_priority() ? std::to_string(hotspot->priority()) : "",
               OffsetText(report, Nanoseconds(hotspot->start_time())),
               HumanDuration(Nanoseconds(hotspot->end_time()) - Nanoseconds(hotspot->start_time())),
               hotspot->has_peak_queue_bytes() ? HumanBytes(hotspot->peak_queue_bytes()) : "",
               CountOrBlank(hotspot->ce_marked_packets()), CountOrBlank(hotspot->dropped_packets()),
               Nanoseconds(hotspot->paused_duration()) == 0
                   ? ""
                   : HumanDuration(Nanoseconds(hotspot->paused_duration())),
               CountOrBlank(hotspot->flow_count()), JobsOf(*hotspot), CostsOf(*hotspot),
               CauseOf(*hotspot)});
  }
  text += table.Deferred(2);
  AppendMore(static_cast<int>(hotspots.size()), "hotspot", text);
  text += "\n";
}

void AppendBriefHotspots(const v1::ReplayReport& report, std::string& text) {
  if (report.hotspots().empty()) return;
  std::set<std::string> ports;
  const v1::Hotspot* worst = &report.hotspots(0);
  for (const v1::Hotspot& hotspot : report.hotspots()) {
    ports.insert(hotspot.port());
    if (IsWorse(&hotspot, worst)) worst = &hotspot;
  }
  const std::string cause = CauseOf(*worst);
  const std::string cost = CostsOf(*worst);
  text += fmt::format(
      "HOTSPOTS: {} with congested queues; worst: {}{}{}{}; --section hotspots lists "
      "them\n\n",
      Counted(ports.size(), "port"), Visible(worst->port()),
      cause.empty() ? "" : fmt::format(", {}", cause),
      worst->dropped_packets() == 0
          ? ""
          : ", " + Counted(worst->dropped_packets(), "packet") + " dropped",
      cost.empty() ? "" : ", delays " + cost);
}

}  // namespace rocescope

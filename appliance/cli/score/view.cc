// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/view.h"

#include <algorithm>
#include <array>

namespace rocescope {
namespace {

using enum MeasureKind;

constexpr std::array<std::string_view, kMeasures> kNames = {"stripe_precision",
                                                            "stripe_recall",
                                                            "pair_precision",
                                                            "pair_recall",
                                                            "ranks",
                                                            "jobs",
                                                            "collectives",
                                                            "periods",
                                                            "periods_stated",
                                                            "periods_wrong",
                                                            "period_error",
                                                            "straggler",
                                                            "path",
                                                            "path_wrong",
                                                            "path_reach"};

constexpr Bar kWrongPaths = {.measure = kPathWrong, .bound = 0.005};

}  // namespace

std::string_view NameOf(MeasureKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::span<const View> Views() {
  static const std::array<View, 12> views = {{
      {.name = "all-ports",
       .title = "mirror of every switch port",
       .parts = "port-mirror",
       .bars = {{kStripePrecision, 0.999},
                {kStripeRecall, 0.999},
                {kPairPrecision, 0.999},
                {kPairRecall, 0.995},
                {kPath, 0.995},
                kWrongPaths}},
      {.name = "leaves",
       .title = "mirror of leaf ports, NCCL logs",
       .parts = "leaf-mirror,nccl",
       .three_tiers_parts = "leaf-mirror,sflow,nccl",
       .samples_close_gaps = true,
       .bars = {{kStripePrecision, 0.999},
                {kStripeRecall, 0.995},
                {kPairPrecision, 0.999},
                {kPairRecall, 0.99},
                {kRanks, 0.995},
                {kPath, 0.99},
                {.measure = kPath, .bound = 0.95, .three_tiers = true},
                kWrongPaths}},
      {.name = "port-sets",
       .title = "four port sets per switch, NCCL logs",
       .parts = "port-sets,nccl",
       .bars = {{kStripePrecision, 0.999},
                {kStripeRecall, 0.99},
                {kPairPrecision, 0.995},
                {kPairRecall, 0.98},
                {kRanks, 0.99},
                {kPath, 0.95},
                kWrongPaths}},
      {.name = "int",
       .title = "INT postcards, rdma",
       .parts = "int,rdma",
       .has_activity = false,
       .bars = {{kRanks, 0.99}, {kPath, 1}, kWrongPaths}},
      {.name = "sflow",
       .title = "sFlow, rdma",
       .parts = "sflow,rdma",
       .elephants_alone = true,
       .has_activity = false,
       .bars = {{kRanks, 0.95}, {kPath, 0.9}, kWrongPaths}},
      {.name = "lossy-leaves",
       .title = "mirror of leaf ports with 20 % lost, NCCL logs",
       .parts = "leaf-mirror,nccl",
       .three_tiers_parts = "leaf-mirror,sflow,nccl",
       .mirror_loss = 0.2,
       .samples_close_gaps = true,
       .bars = {{kStripePrecision, 0.995},
                {kStripeRecall, 0.98},
                {kPairPrecision, 0.99},
                {kPairRecall, 0.97},
                {kRanks, 0.98},
                {kPath, 0.98},
                kWrongPaths}},
      {.name = "leaves-slurm",
       .title = "mirror of leaf ports, Slurm jobs",
       .parts = "leaf-mirror,slurm",
       .three_tiers_parts = "leaf-mirror,sflow,slurm",
       .samples_close_gaps = true},
      {.name = "leaves-alone",
       .title = "mirror of leaf ports, no host data",
       .parts = "leaf-mirror",
       .three_tiers_parts = "leaf-mirror,sflow",
       .samples_close_gaps = true,
       .bars = {{kStripePrecision, 0.999},
                {kStripeRecall, 0.995},
                {kPairPrecision, 0.999},
                {kPairRecall, 0.99},
                {kJobs, 0.98},
                {kCollectives, 0.95},
                {kPeriodError, 0.003},
                {kPath, 0.99},
                {.measure = kPath, .bound = 0.95, .three_tiers = true},
                kWrongPaths}},
      {.name = "full",
       .title = "all telemetry: mirror of every port, INT, sFlow, counters, hosts",
       .parts = "port-mirror,int,sflow,counters,nccl,rdma,slurm",
       .about_faults = true},
      {.name = "leaf-switch-counters",
       .title = "mirror of leaf ports, sFlow, switch counters",
       .parts = "leaf-mirror,sflow,switch-counters",
       .about_faults = true},
      {.name = "port-sets-counters",
       .title = "four port sets per switch, counters",
       .parts = "port-sets,counters",
       .about_faults = true},
      {.name = kCompleteView,
       .title = "all telemetry in the run",
       .about_faults = true,
       .when_named = true},
  }};
  return views;
}

std::vector<const View*> ViewsNamed(std::string_view name) {
  std::vector<const View*> named;
  for (const View& view : Views()) {
    const std::string_view group = view.about_faults ? "diagnosis" : "paths";
    if (name == view.name || (name == group && !view.when_named)) named.push_back(&view);
  }
  return named;
}

const View* FindView(std::string_view name) {
  const auto views = Views();
  const auto at = std::ranges::find(views, name, &View::name);
  return at == views.end() ? nullptr : &*at;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/benign.h"

#include <algorithm>
#include <set>

#include "sim/draw/scale.h"

namespace rocescope::sim {
namespace {

using topology::NicIndex;
using topology::NodeIndex;

class BenignDrawer {
 public:
  BenignDrawer(const topology::Fabric& fabric, RandomSource& dice, Outline& outline)
      : fabric_(fabric),
        dice_(dice),
        outline_(outline),
        scale_(ScaleOf(outline.model)),
        nics_(outline.fabric.nics_per_host),
        hosts_(static_cast<uint32_t>(fabric.nics().size() / nics_)) {
    for (const Outline::Job& job : outline.jobs) used_.insert(job.hosts.begin(), job.hosts.end());
    for (const Outline::Stream& stream : outline.streams) {
      used_.insert({stream.from_host, stream.to_host});
    }
    for (const FaultOptions& fault : outline.faults) {
      for (const NicIndex sender : fault.senders) used_.insert(sender / nics_);
      if (fault.nic != topology::kNone) used_.insert(fault.nic / nics_);
    }
    for (uint32_t host = 0; host < hosts_; ++host) {
      if (!used_.contains(host)) idle_.push_back(host);
    }
    dice_.Shuffle(idle_);
  }

  void Draw() {
    DrawErrors();
    DrawForeign();
    for (Outline::Job& job : outline_.jobs) DrawBreaks(job);
    for (uint32_t i = 0; i < scale_.restart_draws; ++i) DrawRestart();
    DrawMaintenance();
    if (outline_.model == Model::kFlow) return;  // it has no packet spraying
    // Packets of one message take several paths, so these faults would not exist.
    const bool needs_hash = std::ranges::any_of(outline_.faults, [](const FaultOptions& fault) {
      return fault.kind == FaultKind::kPolarisation || fault.kind == FaultKind::kPfcDeadlock;
    });
    outline_.spray = dice_.Chance(0.15) && !needs_hash;
  }

 private:
  SimTime Part(double least, double most) {
    const double part = dice_.Uniform(least, most) * static_cast<double>(outline_.duration);
    return std::max(scale_.grain, RoundDown(static_cast<SimTime>(part), scale_));
  }
  SimTime Part(Range shares) { return Part(shares.least, shares.most); }
  uint32_t Number(Range range) {
    return static_cast<uint32_t>(
        dice_.Between(static_cast<uint64_t>(range.least), static_cast<uint64_t>(range.most)));
  }

  void DrawErrors() {
    BenignOptions& benign = outline_.benign;
    benign.bit_error_ratio = {.least = 1e-15, .most = 1e-13};
    benign.pre_fec_bit_error_ratio = {.least = 1e-9, .most = 1e-6};
    benign.frame_errors = {.ports = dice_.LogUniform(0.01, 0.05), .frames = 1};
    benign.microbursts = {
        .period = Part(scale_.microburst_period),
        .senders = static_cast<uint32_t>(std::min<size_t>(32, fabric_.nics().size() / 2)),
        .frames = Number(scale_.microburst)};
    outline_.lossy_alpha = 0.02;  // about 100 KB of a queue
    benign.harmless_discards = {.ports = dice_.LogUniform(0.02, 0.2),
                                .period = Part(scale_.discard_period)};
    benign.gpu_clock_spread = 0.05;
  }

  void DrawForeign() {
    for (uint64_t i = dice_.Between(1, 3); i > 0; --i) {
      const auto from = static_cast<NicIndex>(dice_.Between(0, fabric_.nics().size() - 1));
      const auto to = static_cast<NicIndex>((from + dice_.Between(1, fabric_.nics().size() - 1)) %
                                            fabric_.nics().size());
      used_.insert({from / nics_, to / nics_});
      outline_.foreign.push_back({.from = from,
                                  .to = to,
                                  .load = dice_.LogUniform(0.005, 0.1),
                                  .message = uint64_t{1} << dice_.Between(14, 18)});
      if (!scale_.jobs_end || dice_.Chance(0.5)) continue;
      outline_.foreign.back().start = Part(0.05, 0.5);
      outline_.foreign.back().end = outline_.foreign.back().start + Part(0.05, 0.5);
    }
  }

  void DrawBreaks(Outline::Job& job) {
    const auto pause = [&](Range iterations) {
      const double number = dice_.Uniform(iterations.least, iterations.most);
      return RoundDown(static_cast<SimTime>(number * static_cast<double>(job.period)), scale_);
    };
    if (dice_.Chance(0.4)) {
      job.interludes.push_back({.name = "compile", .after = 1, .pause = pause(scale_.compile)});
    }
    if (dice_.Chance(0.4)) {
      job.interludes.push_back(
          {.name = "evaluation", .every = Number(scale_.every), .pause = pause(scale_.evaluation)});
    }
    if (!idle_.empty() && dice_.Chance(0.4)) {
      const uint32_t storage = idle_.front();
      used_.insert(storage);
      constexpr uint64_t kGrain = 4096;
      job.checkpoint = {.every = Number(scale_.every),
                        .bytes = static_cast<uint64_t>(dice_.LogUniform(scale_.checkpoint.least,
                                                                        scale_.checkpoint.most)) /
                                 kGrain * kGrain,
                        .hosts = {storage},
                        .nics = outline_.model == Model::kFlow ? nics_ : 1,
                        .blocking = dice_.Chance(0.5)};
    }
  }

  void DrawRestart() {
    if (!dice_.Chance(0.3)) return;
    Outline::Job& job = outline_.jobs[dice_.Between(0, outline_.jobs.size() - 1)];
    const JobOptions::Restart restart = {.at = Part(0.2, 0.6), .downtime = Part(scale_.downtime)};
    const bool runs = job.start < restart.at &&
                      restart.at + restart.downtime < std::min(job.end, outline_.duration);
    if (runs && job.restarts.empty()) job.restarts.push_back(restart);
  }

  void DrawMaintenance() {
    const auto add = [&](MaintenanceOptions work) {
      work.start = Part(0.1, 0.7);
      if (work.kind != MaintenanceKind::kHostReboot) work.drain = Part(scale_.drain);
      work.duration = Part(0.05, 0.2);
      outline_.maintenance.push_back(work);
    };
    if (dice_.Chance(0.4)) {
      std::vector<topology::LinkIndex> links;
      for (topology::LinkIndex link = 0; link < fabric_.links().size(); ++link) {
        const auto& ends = fabric_.link(link).ends;
        if (fabric_.node(fabric_.port(ends[0]).node).IsSwitch() &&
            fabric_.node(fabric_.port(ends[1]).node).IsSwitch()) {
          links.push_back(link);
        }
      }
      if (!links.empty()) {
        add({.kind = MaintenanceKind::kLinkDrain, .link = dice_.Pick(links)});
      }
    }
    if (dice_.Chance(0.3)) {
      std::vector<NodeIndex> upper;
      for (NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
        const topology::Node& at = fabric_.node(node);
        if (at.IsSwitch() && at.tier != topology::Tier::kLeaf) upper.push_back(node);
      }
      if (upper.size() > 1) {
        add({.kind = MaintenanceKind::kSwitchUpgrade, .node = dice_.Pick(upper)});
      }
    }
    for (const uint32_t host : idle_) {
      if (used_.contains(host) || !dice_.Chance(0.4)) continue;
      add({.kind = MaintenanceKind::kHostReboot, .node = fabric_.nic(host * nics_).host});
      break;
    }
  }

  const topology::Fabric& fabric_;
  RandomSource& dice_;
  Outline& outline_;
  const Scale& scale_;
  const uint32_t nics_;  // per host
  const uint32_t hosts_;
  std::set<uint32_t> used_;
  std::vector<uint32_t> idle_;  // in random order
};

}  // namespace

void DrawBenign(const topology::Fabric& fabric, RandomSource& dice, Outline& outline) {
  BenignDrawer(fabric, dice, outline).Draw();
}

}  // namespace rocescope::sim

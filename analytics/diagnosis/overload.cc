// SPDX-License-Identifier: BSD-3-Clause
// A NIC whose last link fills up because of senders that were not there before, or are of no job,
// and that send to nobody else: a collective's flows go both ways and to many.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

struct Foreign {
  const FlowSummary* flow = nullptr;
  NicIndex source = kNone;
  NicIndex destination = kNone;
  bool is_alone = false;  // its sender sends to nobody else, and gets nothing
};

// Windows at the beginning in which a job's flows are new.
constexpr size_t kWarmUp = 3;

// Flows such as no job has, and those that were not there before.
std::vector<Foreign> ForeignFlows(const Scene& scene) {
  std::vector<Foreign> all;
  std::map<NicIndex, std::set<NicIndex>> sends_to;
  std::set<NicIndex> gets;
  for (const FlowSummary& flow : scene.parts().flows) {
    if (flow.DataBytes() == 0) continue;
    const NicIndex source =
        scene.fabric().FindNic({.segment = flow.flow.segment, .address = flow.flow.source});
    const NicIndex destination =
        scene.fabric().FindNic({.segment = flow.flow.segment, .address = flow.flow.destination});
    if (source == kNone || destination == kNone) continue;
    all.push_back({.flow = &flow, .source = source, .destination = destination});
    sends_to[source].insert(destination);
    gets.insert(destination);
  }
  const Timestamp settled = scene.EndOf(kWarmUp);
  std::erase_if(all, [&](Foreign& flow) {
    flow.is_alone = sends_to[flow.source].size() == 1 && !gets.contains(flow.source);
    return !flow.is_alone && flow.flow->total.first_seen < settled;
  });
  return all;
}

// Windows from `from` on in which the port's queue shows that it is too full.
std::vector<size_t> FullFrom(const Scene& scene, PortIndex port, Timestamp from) {
  constexpr double kFull = 0.9;
  const Row sent = scene.Growth(scene.EntityOf(port), Metric::kTxBytes);
  const double line = scene.BytesAWindow(port);
  std::vector<bool> signs(scene.windows());
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row marked = scene.Growth(scene.EntityOf(port, priority), Metric::kEcnMarked);
    for (size_t w = 0; w < marked.size(); ++w) {
      if (marked[w] > 0) signs[w] = true;
    }
  }
  std::vector<size_t> full;
  for (size_t w = 0; w < scene.windows(); ++w) {
    if (scene.EndOf(w) <= from) continue;
    if (signs[w] || static_cast<double>(sent[w]) > kFull * line) full.push_back(w);
  }
  return full;
}

// What all of the senders have in common, for the evidence.
std::string_view HowForeign(size_t alone, size_t senders) {
  if (alone == senders) return ", and to nobody else";
  return alone == 0 ? ", which were not there before" : "";
}

}  // namespace

void DetectOverload(const Scene& scene, Findings& found) {
  if (scene.windows() <= kWarmUp) return;
  // A line drawn here: a few senders are somebody's neighbours, more are many to one.
  constexpr size_t kMany = 5;
  const std::vector<Foreign> flows = ForeignFlows(scene);
  std::map<NicIndex, std::vector<const Foreign*>> to;
  std::map<NicIndex, std::set<NicIndex>> sends_to;
  std::set<NicIndex> gets;
  std::set<NicIndex> alone_senders;
  for (const Foreign& flow : flows) {
    to[flow.destination].push_back(&flow);
    if (flow.is_alone) {
      alone_senders.insert(flow.source);
      continue;
    }
    sends_to[flow.source].insert(flow.destination);
    gets.insert(flow.destination);
  }
  for (const auto& [nic, arriving] : to) {
    std::set<NicIndex> senders;
    Finding finding = {.place = {.kind = PlaceKind::kNic, .index = nic}, .from = Timestamp::max()};
    Timestamp last = Timestamp::min();
    for (const Foreign* flow : arriving) {
      // Somebody who answers, or talks to many, is of a job.
      if (!flow->is_alone && (sends_to.contains(nic) || sends_to[flow->source].size() > 1 ||
                              gets.contains(flow->source))) {
        continue;
      }
      senders.insert(flow->source);
      finding.from = std::min(finding.from, flow->flow->total.first_seen);
      last = std::max(last, flow->flow->total.last_seen);
      finding.culprits.push_back(flow->flow->flow);
    }
    // A few that were there when the capture began may be what the NIC is for.
    const size_t enough = finding.from < scene.EndOf(0) ? kMany : 2;
    if (senders.size() < enough) continue;
    const PortIndex port = scene.fabric().Peer(scene.fabric().nic(nic).port);
    if (port == kNone) continue;
    const std::vector<size_t> full = FullFrom(scene, port, finding.from);
    // Once is a queue as there are many.
    if (full.size() < 2) continue;
    finding.kind = senders.size() >= kMany ? FindingKind::kIncast : FindingKind::kNoisyNeighbour;
    finding.confidence = 0.9;
    finding.verdict = std::max({scene.EndOf(full[1]), finding.from, scene.EndOf(kWarmUp)});
    constexpr int kCalm = 4;
    if (last + kCalm * scene.parts().metrics.window() < scene.EndOf(scene.windows() - 1)) {
      finding.until = last;
    }
    const auto alone = static_cast<size_t>(std::ranges::count_if(
        senders, [&](NicIndex sender) { return alone_senders.contains(sender); }));
    finding.evidence.push_back(fmt::format(
        "{} to it by {}{}; {} has been full since, in {} of {}",
        senders.size() == 1 ? "1 NIC sends" : WithThousands(senders.size()) + " NICs send",
        Counted(finding.culprits.size(), "flow"), HowForeign(alone, senders.size()),
        scene.fabric().NameOf(port), WithThousands(full.size()),
        Counted(scene.windows() - full.front(), "window")));
    found.push_back(std::move(finding));
  }
}

}  // namespace rocescope

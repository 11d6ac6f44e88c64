// SPDX-License-Identifier: BSD-3-Clause
// Where packets are lost, or damaged, that no counter tells of: by whose packets are. A place whose
// share of everybody's traffic explains best who lost how many is the likeliest; places whose
// counters prove that they lost nothing are none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

struct Lossy {
  const FlowPath* path = nullptr;
  double losses = 0;
};

// The flow whose packets a NAK refuses, by the flow that carries the NAK.
std::map<FlowKey, FlowKey> OtherWays(const Scene& scene) {
  std::map<FlowKey, FlowKey> other;
  const auto flow_to = [](const Connection& connection, size_t end) {
    const ConnectionEndpoint& from = connection.endpoints[1 - end];
    const ConnectionEndpoint& to = connection.endpoints[end];
    return FlowKey{.source = from.address,
                   .destination = to.address,
                   .destination_qpn = *to.qpn,
                   .segment = to.segment};
  };
  for (const Connection& connection : scene.parts().connections) {
    if (!connection.endpoints[0].qpn || !connection.endpoints[1].qpn) continue;
    other[flow_to(connection, 0)] = flow_to(connection, 1);
    other[flow_to(connection, 1)] = flow_to(connection, 0);
  }
  return other;
}

// Somebody would have counted what was lost there.
bool IsCounted(const Scene& scene, PortIndex sender) {
  const PortIndex receiver = scene.fabric().Peer(sender);
  return receiver != kNone && scene.AreSimultaneous(scene.EntityOf(sender), Metric::kTxPackets,
                                                    scene.EntityOf(receiver), Metric::kRxPackets);
}

// NICs that say what reached them damaged leave nothing to be voted on.
bool NicsTell(const Scene& scene) {
  for (topology::NicIndex nic = 0; nic < scene.fabric().nics().size(); ++nic) {
    if (scene.Tells({.kind = EntityKind::kNic, .index = nic}, Metric::kIcrcErrors)) return true;
  }
  return false;
}

struct Candidate {
  Place place;
  std::map<const FlowPath*, double> octets;
  double all = 0;
  double likelihood = 0;
};

void Expose(const Scene& scene, const FlowPath& path, Timestamp from, Timestamp until,
            std::map<Place, Candidate>& candidates) {
  for (const PathStretch& stretch : path.stretches) {
    const Timestamp begin = std::max(from, stretch.from);
    const Timestamp end = std::min(until, stretch.until);
    if (end < begin) continue;
    const double octets = static_cast<double>(stretch.bytes) *
                          static_cast<double>((end - begin).count() + 1) /
                          static_cast<double>((stretch.until - stretch.from).count() + 1);
    for (const PortIndex port : stretch.certain) {
      const NodeIndex node = scene.fabric().port(port).node;
      const auto add = [&](const Place& place) {
        Candidate& candidate = candidates[place];
        candidate.place = place;
        candidate.octets[&path] += octets;
        candidate.all += octets;
      };
      if (scene.fabric().node(node).IsSwitch()) add({.kind = PlaceKind::kSwitch, .index = node});
      if (!IsCounted(scene, port)) {
        add({.kind = PlaceKind::kLink, .index = scene.fabric().port(port).link, .sender = port});
      }
    }
  }
}

}  // namespace

void DetectUncountedLoss(const Scene& scene, Findings& found) {
  if (NicsTell(scene)) return;
  const std::map<FlowKey, FlowKey> other = OtherWays(scene);
  std::map<FlowKey, double> losses;
  size_t first = scene.windows();
  size_t last = 0;
  std::map<size_t, double> by_window;
  for (const auto& [flow, windows] : scene.parts().losses.losses()) {
    const auto refused = other.find(flow);
    for (const LossWindow& window : windows) {
      const size_t place = scene.PlaceOf(window.window);
      if (place >= scene.windows() || window.refused == 0 || refused == other.end()) continue;
      losses[refused->second] += static_cast<double>(window.refused);
      by_window[place] += static_cast<double>(window.refused);
      first = std::min(first, place);
      last = std::max(last, place);
    }
  }
  constexpr double kEnough = 5;
  double all = 0;
  size_t verdict = last;
  for (const auto& [place, count] : by_window) {
    all += count;
    if (all >= kEnough && verdict == last) verdict = place;
  }
  if (all < kEnough) return;
  std::map<Place, Candidate> candidates;
  for (const FlowPath& path : scene.parts().paths) {
    Expose(scene, path, scene.BeginOf(first), scene.EndOf(last), candidates);
  }
  std::vector<Lossy> lossy;
  for (const FlowPath& path : scene.parts().paths) {
    if (const auto at = losses.find(path.flow); at != losses.end()) {
      lossy.push_back({.path = &path, .losses = at->second});
    }
  }
  // Poisson counts, as likely as what passed; what a place does not explain comes from elsewhere,
  // which is a hundred times less likely.
  constexpr double kElsewhere = 1e-2;
  constexpr double kAnyFlow = 1e-3;
  std::vector<Candidate> ranked;
  for (auto& [place, candidate] : candidates) {
    if (candidate.all <= 0) continue;
    for (const Lossy& one : lossy) {
      const auto at = candidate.octets.find(one.path);
      const double share = at == candidate.octets.end() ? 0 : at->second / candidate.all;
      candidate.likelihood +=
          one.losses * std::log((1 - kElsewhere) * share + kElsewhere * kAnyFlow);
    }
    ranked.push_back(std::move(candidate));
  }
  if (ranked.empty() || lossy.empty()) return;
  std::ranges::sort(ranked, {}, [](const Candidate& candidate) {
    return std::pair(-candidate.likelihood, candidate.place);
  });
  double weights = 0;
  for (const Candidate& candidate : ranked) {
    weights += std::exp(candidate.likelihood - ranked[0].likelihood);
  }
  const auto kind_of = [](const Place& place) {
    return place.kind == PlaceKind::kLink ? FindingKind::kGrayLoss : FindingKind::kCorruption;
  };
  const Place best = ranked[0].place;
  Finding finding = {.kind = kind_of(best),
                     .place = best,
                     .confidence = 0.9 / weights,
                     .from = scene.BeginOf(first),
                     .verdict = scene.EndOf(verdict)};
  constexpr size_t kCalm = 4;
  if (last + kCalm < scene.windows()) finding.until = scene.EndOf(last);
  constexpr size_t kMostRivals = 4;
  constexpr double kLeast = 0.01;
  for (size_t i = 1; i < ranked.size() && i <= kMostRivals; ++i) {
    const double probability = std::exp(ranked[i].likelihood - ranked[0].likelihood) / weights;
    if (probability < kLeast) break;
    finding.rivals.push_back(
        {.kind = kind_of(ranked[i].place), .place = ranked[i].place, .probability = probability});
  }
  finding.evidence.push_back(
      fmt::format("receivers refused packets of {} flows {:.0f} times, and what passed here "
                  "explains best whose",
                  lossy.size(), all));
  finding.further.push_back("counters of NICs: damaged packets are counted there, lost ones not");
  found.push_back(std::move(finding));
}

}  // namespace rocescope

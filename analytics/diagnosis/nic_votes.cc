// SPDX-License-Identifier: BSD-3-Clause
// Locates silent loss from the counters of NICs. A receiver counts packets out of sequence, and the
// sender the NAKs, wherever on the path the packets were lost and whenever switches are read. The
// most likely link is the one that carries the traffic between these NICs, and little other
// traffic. Paths come from packets of any source, sFlow samples among them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/loss_taps.h"
#include "analytics/diagnosis/reordering.h"
#include "analytics/diagnosis/suspects.h"
#include "base/count_text.h"
#include "topology/ecmp.h"
#include "topology/route.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

// Constants of the statistical model.
// Maximum weight of all counts together, in independent losses: the shares of traffic with which
// they are compared are estimated from few samples.
constexpr double kMostVotes = 30;
// Counts of so few packets may have other causes.
constexpr double kFew = 8;
// Probability that a NIC loses packets although the link at fault does not carry its traffic.
constexpr double kAbsent = 1e-8;
// Counts below this fraction of the largest one may have other causes, too.
constexpr double kRelevant = 0.02;
// Unobserved traffic is assumed between at most this many senders and receivers.
constexpr size_t kMostRoles = 64;
// Losses in fewer windows can be a single event, such as a changed path, which reorders packets.
constexpr size_t kLeastWindows = 4;
// If counters are not read at window ends, each event is divided between two windows.
constexpr size_t kLeastInterpolated = 2 * kLeastWindows;
// Minimum number of NICs that count losses, senders and receivers together.
constexpr size_t kLeastNics = 3;
// If more than this fraction of the counts is in one window, they are a single event.
constexpr double kOneMoment = 0.5;
// The best place must explain this fraction of the counts, also by paths that were not observed.
constexpr double kLeastExplained = 0.8;
// Observed paths must explain this fraction of the counts.
constexpr double kLeastObserved = 0.5;
// A NIC has lost packets if it counts more than this many times what port counters explain, and
// what NICs count that the fault does not affect.
constexpr double kExcess = 4;
// A NIC that counts fewer packets is not considered to lose any.
constexpr double kLeastCount = 3;
// The fault began when this fraction of the counts had been made.
constexpr double kBegun = 0.01;
// Probability that taps show a packet loss at a wrong part of the path.
constexpr double kWrongTap = 0.05;
// Counts below this fraction of their mean are no sign that the fault continues.
constexpr double kContinues = 0.2;

// A NIC as a receiver or as a sender.
uint32_t ReceiverOf(NicIndex nic) { return 2 * nic; }
uint32_t SenderOf(NicIndex nic) { return 2 * nic + 1; }
NicIndex NicOf(uint32_t role) { return role / 2; }
bool IsReceiver(uint32_t role) { return role % 2 == 0; }

// The traffic of one role of a NIC, as far as its packets were observed.
struct Observed {
  double bytes = 0;
  size_t flows = 0;
  std::map<PortIndex, double> through;  // bytes, by sending port
};
using ObservedByRole = std::map<uint32_t, Observed>;

// Estimates the bytes between two times from those of a stretch, at its mean rate. A stretch that
// ended before continues: samples of a flow can be far apart.
double LikelyBytes(const PathInterval& stretch, Timestamp from, Timestamp until) {
  const auto length = static_cast<double>((stretch.until - stretch.from).count());
  const auto wanted = static_cast<double>((until - from).count());
  const auto bytes = static_cast<double>(stretch.bytes);
  return length > wanted ? bytes * wanted / length : bytes;
}

// Uses the paths that were observed between two times. For flows without any, uses the last one
// observed before.
ObservedByRole ObservedTraffic(const DiagnosisInput& input, Timestamp from, Timestamp until) {
  ObservedByRole traffic;
  for (const FlowPath& path : input.parts().paths) {
    if (path.source == kNone || path.destination == kNone) continue;
    const auto behind =
        std::ranges::find_if(path.intervals, [&](const auto& s) { return s.from >= until; });
    bool is_observed = false;
    for (auto stretch = behind; stretch != path.intervals.begin();) {
      --stretch;
      if (is_observed && stretch->until < from) break;
      if (stretch->certain.empty() || stretch->bytes == 0) continue;
      const double bytes = LikelyBytes(*stretch, from, until);
      for (const uint32_t role : {ReceiverOf(path.destination), SenderOf(path.source)}) {
        Observed& observed = traffic[role];
        observed.bytes += bytes;
        if (!is_observed) ++observed.flows;
        for (const PortIndex port : stretch->certain) observed.through[port] += bytes;
      }
      is_observed = true;
    }
  }
  return traffic;
}

double SumOf(std::span<const uint64_t> row) {
  return static_cast<double>(std::accumulate(row.begin(), row.end(), uint64_t{0}));
}

// Returns what exceeds twice the median of the windows. Many healthy ports regularly discard frames
// that they do not support, LLDP for example.
double BeyondUsual(const Row& row) {
  Row sorted = row;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const uint64_t usual = 2 * *middle;
  double sum = 0;
  for (const uint64_t count : row) sum += static_cast<double>(count - std::min(count, usual));
  return sum;
}

// Frames that both ends of a link count as lost or damaged.
double CountedLosses(const DiagnosisInput& input, PortIndex sender) {
  double sum = 0;
  for (const PortIndex port : {sender, input.fabric().Peer(sender)}) {
    if (port == kNone) continue;
    const Entity entity = input.EntityOf(port);
    const Metric errors = input.ErrorMetricOf(entity);
    if (input.HasMetric(entity, errors)) sum += SumOf(input.Growth(entity, errors));
    for (const Metric metric : {Metric::kTxDiscards, Metric::kRxDiscards}) {
      if (input.HasMetric(entity, metric)) sum += BeyondUsual(input.Growth(entity, metric));
    }
  }
  return sum;
}

// Packets that each role counts as lost, per window.
struct Counts {
  std::map<uint32_t, Row> rows;
  // Packets out of sequence for each NAK. A receiver counts all that follow a lost one, but refuses
  // only the first.
  double out_of_sequence = 1;

  double all = 0;  // upper bound of the lost packets, in all rows

  double Of(uint32_t role, size_t first, size_t behind) const {
    const Row& row = rows.at(role);
    return SumOf(std::span(row).subspan(first, behind - first)) /
           (IsReceiver(role) ? out_of_sequence : 1);
  }
};

Counts CountsOfNics(const DiagnosisInput& input) {
  Counts counts;
  double late = 0;
  double refused = 0;
  for (NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    for (const auto& [role, metric] : {std::pair(ReceiverOf(nic), Metric::kOutOfSequence),
                                       std::pair(SenderOf(nic), Metric::kPacketSequenceError)}) {
      if (!input.HasMetric(entity, metric)) continue;
      Row row = input.Growth(entity, metric);
      (IsReceiver(role) ? late : refused) += SumOf(row);
      counts.rows.emplace(role, std::move(row));
    }
  }
  if (refused > 0) counts.out_of_sequence = std::max(1.0, late / refused);
  counts.all = refused + late;
  return counts;
}

// Returns the losses of each role that port counters explain: its share of the losses at each link
// is that of the link's traffic.
std::map<uint32_t, double> ExplainedLosses(const DiagnosisInput& input,
                                           const ObservedByRole& traffic) {
  std::map<PortIndex, double> all[2];  // bytes, by sending port: of senders and of receivers
  for (const auto& [role, observed] : traffic) {
    for (const auto& [port, bytes] : observed.through) all[IsReceiver(role)][port] += bytes;
  }
  std::map<PortIndex, double> counted;
  for (const auto& [port, bytes] : all[0]) counted[port] = CountedLosses(input, port);
  std::map<uint32_t, double> explained;
  for (const auto& [role, observed] : traffic) {
    double& sum = explained[role];
    for (const auto& [port, bytes] : observed.through) {
      sum += counted[port] * bytes / all[IsReceiver(role)][port];
    }
    const Entity own{.kind = EntityKind::kNic, .index = NicOf(role)};
    if (IsReceiver(role)) sum += SumOf(input.Growth(own, Metric::kIcrcErrors));
  }
  return explained;
}

// What a NIC counts if the fault does not affect it: the median of the senders or of the receivers
// with traffic, whichever is less. Both ends of a connection count a loss, so losses everywhere in
// the fabric raise both medians. Losses at one link of a leaf affect few senders but often most
// receivers, or the other way round.
double UsualCount(std::array<std::vector<double>, 2> counts) {
  double usual = std::numeric_limits<double>::infinity();
  for (std::vector<double>& side : counts) {
    if (side.empty()) continue;
    const auto middle = side.begin() + static_cast<ptrdiff_t>(side.size() / 2);
    std::ranges::nth_element(side, middle);
    usual = std::min(usual, *middle);
  }
  return usual;
}

// Roles that counted more losses than port counters explain.
std::vector<uint32_t> ThoseThatLose(const DiagnosisInput& input, const ObservedByRole& traffic,
                                    const Counts& counts) {
  const std::map<uint32_t, double> explained = ExplainedLosses(input, traffic);
  std::map<uint32_t, double> left;
  std::array<std::vector<double>, 2> of_all;
  for (const auto& [role, row] : counts.rows) {
    const auto at = explained.find(role);
    const double more =
        counts.Of(role, 0, row.size()) - (at == explained.end() ? 0 : kExcess * at->second);
    left[role] = more;
    if (at != explained.end()) of_all[IsReceiver(role)].push_back(std::max(more, 0.0));
  }
  const double usual = UsualCount(std::move(of_all));
  const Reordering& reordered = input.reordering();
  std::vector<uint32_t> losing;
  for (const auto& [role, more] : left) {
    const std::set<NicIndex>& without_loss =
        IsReceiver(role) ? reordered.receivers : reordered.senders;
    if (without_loss.contains(NicOf(role))) continue;
    if (more > kLeastCount + kExcess * usual) losing.push_back(role);
  }
  return losing;
}

struct Signs {
  double all = 0;
  size_t first = 0;
  size_t last = 0;
  std::optional<size_t> detected_at;  // the first window in which all limits are reached
  bool is_single_event = true;        // most of them are in one window
};

size_t LeastWindows(const DiagnosisInput& input, std::span<const uint32_t> roles) {
  const bool is_exact = std::ranges::all_of(roles, [&](uint32_t role) {
    const Metric metric = IsReceiver(role) ? Metric::kOutOfSequence : Metric::kPacketSequenceError;
    return input.IsReadAtWindowEnds({.kind = EntityKind::kNic, .index = NicOf(role)}, metric);
  });
  return is_exact ? kLeastWindows : kLeastInterpolated;
}

Signs SignsOf(const DiagnosisInput& input, const Counts& counts, std::span<const uint32_t> roles) {
  const size_t windows = input.windows();
  const size_t least = LeastWindows(input, roles);
  std::vector<double> sum(windows);
  Signs signs;
  for (const uint32_t role : roles) {
    for (size_t w = 0; w < windows; ++w) sum[w] += counts.Of(role, w, w + 1);
  }
  const double all = std::accumulate(sum.begin(), sum.end(), 0.0);
  double most = 0;
  size_t with_signs = 0;
  for (size_t w = 0; w < windows; ++w) {
    signs.all += sum[w];
    if (signs.all <= kBegun * all) {
      signs.first = w + 1;
      continue;
    }
    if (sum[w] > kContinues * all / static_cast<double>(windows)) {
      most = std::max(most, sum[w]);
      signs.last = w;
      ++with_signs;
    }
    const bool suffices = signs.all >= input.thresholds().nic_losses && with_signs >= least;
    if (suffices && !signs.detected_at) signs.detected_at = w;
  }
  signs.is_single_event = most > kOneMoment * all;
  return signs;
}

// Bytes of a NIC in its role while packets were lost.
double BytesOf(const DiagnosisInput& input, uint32_t role, const Observed& observed,
               const Signs& signs) {
  const Entity entity{.kind = EntityKind::kNic, .index = NicOf(role)};
  const Metric metric = IsReceiver(role) ? Metric::kRxBytes : Metric::kTxBytes;
  if (!input.HasMetric(entity, metric)) return observed.bytes;
  const Row row = input.Growth(entity, metric);
  return SumOf(std::span(row).subspan(signs.first, signs.last + 1 - signs.first));
}

// Bytes of each role through each link while packets were lost, by sending port.
using PassedByPort = std::map<PortIndex, Passed>;

// The traffic of the NIC, divided as observed.
PassedByPort ObservedAt(const DiagnosisInput& input, const ObservedByRole& traffic,
                        const Signs& signs) {
  PassedByPort passed;
  for (const auto& [role, observed] : traffic) {
    const double bytes = BytesOf(input, role, observed, signs);
    if (bytes <= 0) continue;
    for (const auto& [port, through] : observed.through) {
      passed[port][role] += bytes * through / observed.bytes;
    }
  }
  return passed;
}

// Adds what may have passed without being observed: one more flow of each NIC that lost packets,
// to any other that did, over all equal-cost paths. Considers the NICs with the most votes.
void AddUnobserved(const DiagnosisInput& input, const ObservedByRole& traffic, const Signs& signs,
                   const AffectedPackets& votes, PassedByPort& passed) {
  std::vector<uint32_t> losing;
  for (const auto& [role, count] : votes) losing.push_back(role);
  std::ranges::stable_sort(losing, std::ranges::greater(),
                           [&](uint32_t role) { return votes.at(role); });
  if (losing.size() > kMostRoles) losing.resize(kMostRoles);
  const topology::Fabric& fabric = input.fabric();
  topology::Routes routes(fabric);
  std::map<uint32_t, std::map<PortIndex, double>> shares;
  std::map<uint32_t, size_t> partners;
  for (const uint32_t sender : losing) {
    if (IsReceiver(sender)) continue;
    for (const uint32_t receiver : losing) {
      if (!IsReceiver(receiver) || NicOf(sender) == NicOf(receiver)) continue;
      const topology::PathSet paths(routes, NicOf(sender), NicOf(receiver));
      ++partners[sender];
      ++partners[receiver];
      for (const topology::PathSet::LinkShare& link : paths.links()) {
        shares[sender][link.sender] += link.share;
        shares[receiver][link.sender] += link.share;
      }
    }
  }
  for (const auto& [role, by_port] : shares) {
    const auto observed = traffic.find(role);
    if (observed == traffic.end()) continue;
    const double bytes = BytesOf(input, role, observed->second, signs) /
                         static_cast<double>(1 + observed->second.flows);
    for (const auto& [port, share] : by_port) {
      const auto at = passed.find(port);
      if (at == passed.end()) continue;
      // Few of its bytes may have been observed there: those of acknowledgements, for example.
      double& all = at->second[role];
      all = std::max(all, bytes * share / static_cast<double>(partners[role]));
    }
  }
}

// Returns the counts, of which only the proportions matter: limits their sum.
AffectedPackets VotesOf(const Counts& counts, std::span<const uint32_t> losing,
                        const Signs& signs) {
  AffectedPackets votes;
  double all = 0;
  for (const uint32_t role : losing) {
    votes[role] = counts.Of(role, signs.first, signs.last + 1);
    all += votes[role];
  }
  for (auto& [role, count] : votes) count *= std::min(1.0, kMostVotes / all);
  return votes;
}

// Returns how certain it is that each NIC lost packets at the place, 0 to 1. The few losses of
// other jobs, which may distinguish two links of the same paths, count as much as the many of one
// job.
std::map<uint32_t, double> CertaintiesOf(const Counts& counts, std::span<const uint32_t> losing,
                                         const Signs& signs) {
  double most = 0;
  for (const uint32_t role : losing) {
    most = std::max(most, counts.Of(role, signs.first, signs.last + 1));
  }
  std::map<uint32_t, double> certainties;
  for (const uint32_t role : losing) {
    const double count = counts.Of(role, signs.first, signs.last + 1);
    certainties[role] = std::min(1.0, count / (kRelevant * most)) * count / (count + kFew);
  }
  return certainties;
}

// The relative probability that a link with this traffic explains the losses of all NICs.
double PriorOf(const Passed& passed, const std::map<uint32_t, double>& certainties) {
  double absent = 0;
  for (const auto& [role, certainty] : certainties) {
    if (!passed.contains(role)) absent += certainty;
  }
  return std::pow(kAbsent, absent);
}

// For each sending port, the share of NAKs whose packets passed it and were lost elsewhere,
// according to the taps on the paths of their flows.
std::map<PortIndex, double> LossesElsewhere(const DiagnosisInput& input) {
  std::map<PortIndex, double> elsewhere;
  const Naks naks = NaksOf(input);
  if (naks.all == 0) return elsewhere;
  for (const FlowPath& path : input.parts().paths) {
    const auto lost = naks.by_flow.find(path.flow);
    // A flow that changed its path can have lost packets on either path.
    if (lost == naks.by_flow.end() || path.intervals.size() != 1) continue;
    const std::vector<PortIndex>& way = path.intervals.front().certain;
    const Between between = BetweenTaps(input, way, path.flow, lost->second);
    for (size_t i = 0; i < way.size(); ++i) {
      if (!between.Contains(i)) elsewhere[way[i]] += lost->second / naks.all;
    }
  }
  return elsewhere;
}

}  // namespace

void DetectLossAtNics(const DiagnosisInput& input, Findings& found) {
  if (input.is_spraying()) return;  // packets of one flow overtake each other
  const Counts counts = CountsOfNics(input);
  const double enough = input.thresholds().nic_losses;
  if (counts.all < enough) return;  // the paths of all flows are many
  const ObservedByRole traffic =
      ObservedTraffic(input, input.BeginOf(0), input.EndOf(input.windows() - 1));
  const std::vector<uint32_t> losing = ThoseThatLose(input, traffic, counts);
  const Signs signs = SignsOf(input, counts, losing);
  if (!signs.detected_at || signs.is_single_event) return;
  const PassedByPort observed = ObservedAt(input, traffic, signs);
  const AffectedPackets votes = VotesOf(counts, losing, signs);
  PassedByPort passed = observed;
  AddUnobserved(input, traffic, signs, votes, passed);
  std::vector<Exposed> exposed;
  const std::map<uint32_t, double> certainties = CertaintiesOf(counts, losing, signs);
  const std::map<PortIndex, double> elsewhere = LossesElsewhere(input);
  for (auto& [port, bytes] : passed) {
    const auto lost = elsewhere.find(port);
    const double contradicting = lost == elsewhere.end() ? 0 : kMostVotes * lost->second;
    // Above 0, so that some link is the most likely one.
    const double prior = std::max(PriorOf(bytes, certainties) * std::pow(kWrongTap, contradicting),
                                  std::numeric_limits<double>::min());
    exposed.push_back({.kind = FaultKind::kGrayLoss,
                       .place = {.kind = PlaceKind::kLink,
                                 .index = input.fabric().port(port).link,
                                 .sender = port},
                       .passed = std::move(bytes),
                       .prior = prior});
  }
  const std::vector<Suspect> ranked = RankSuspects(exposed, votes);
  if (ranked.empty() || ranked[0].probability < input.thresholds().least_vote_confidence) return;
  const auto best = std::ranges::find(exposed, ranked[0].place, &Exposed::place);
  const Passed& seen = observed.at(best->place.sender);
  double possible = 0;
  double certain_counts = 0;
  size_t receivers = 0;
  size_t senders = 0;
  for (const uint32_t role : losing) {
    const double count = counts.Of(role, signs.first, signs.last + 1);
    if (best->passed.contains(role)) possible += count;
    if (!seen.contains(role)) continue;
    certain_counts += count;
    ++(IsReceiver(role) ? receivers : senders);
  }
  if (possible < kLeastExplained * signs.all || certain_counts < kLeastObserved * signs.all) return;
  // Both ends of a connection count a loss. Losses of a single connection can be anywhere on its
  // path.
  if (receivers == 0 || senders == 0 || receivers + senders < kLeastNics) return;
  Finding finding = {.basis = Basis::kVotes,
                     .from = input.BeginOf(signs.first),
                     .until = input.Until(signs.last),
                     .detected_at = input.EndOf(*signs.detected_at)};
  SetSuspects(ranked, finding);
  const double certain = input.thresholds().vote_confidence;
  finding.confidence *= certain;
  for (Suspect& rival : finding.alternatives) rival.probability *= certain;
  finding.evidence.push_back(
      fmt::format("{} and {} counted NAKs and packets out of sequence that no port counted as "
                  "lost; this link carries traffic between them",
                  Counted(senders, "sender"), Counted(receivers, "receiver")));
  found.push_back(std::move(finding));
}

TimeToDetection TimeToDetectLossAtNics(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {
      .windows = kLeastWindows,
      .interpolated_windows = kLeastInterpolated,
      .signs = fmt::format("{} lost packets, at most {:.0f} % of them in one window; {} windows "
                           "if counters are not read at window ends",
                           thresholds.nic_losses, 100 * kOneMoment, kLeastInterpolated)};
}

}  // namespace rocescope

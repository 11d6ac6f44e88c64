// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/link_claims.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {

using topology::kNone;
using topology::LinkIndex;
using topology::PortIndex;

namespace {

// Each flow that shows a cable halves the remaining doubt; matching counters leave a tenth of it.
constexpr double kMaxSure = 0.99;
constexpr double kDoubtOfCounters = 0.1;

double ConfidenceOf(uint64_t flows, bool by_counters) {
  const double doubt = std::exp2(-static_cast<double>(std::min<uint64_t>(flows, 64)));
  return std::min(kMaxSure, 1 - doubt * (by_counters ? kDoubtOfCounters : 1));
}

}  // namespace

void LinkClaims::Contradict(PortIndex receiver, const LinkClaim& claim) {
  claims_[receiver].push_back(claim);
}

std::vector<LinkIndex> LinkClaims::Contradicted() const {
  std::set<LinkIndex> links;
  for (const auto& [port, claims] : claims_) links.insert(fabric_.port(port).link);
  return {links.begin(), links.end()};
}

uint64_t LinkClaims::CountConfirmed() const {
  const std::vector<LinkIndex> wrong = Contradicted();
  return static_cast<uint64_t>(std::ranges::count_if(
      confirmed_, [&](const auto& one) { return !std::ranges::binary_search(wrong, one.first); }));
}

bool LinkClaims::IsConfirmed(LinkIndex link) const {
  return confirmed_.contains(link) && std::ranges::none_of(claims_, [&](const auto& entry) {
           return fabric_.port(entry.first).link == link;
         });
}

// Returns the node's only port that contradicts the declaration, if there is exactly one.
PortIndex LinkClaims::Resolve(const Sender& sender, const std::vector<LinkIndex>& wrong) const {
  if (sender.port != kNone || sender.node == kNone) return sender.port;
  PortIndex found = kNone;
  for (const LinkIndex link : wrong) {
    for (const PortIndex end : fabric_.link(link).ends) {
      if (fabric_.port(end).node != sender.node) continue;
      if (found != kNone) return kNone;
      found = end;
    }
  }
  return found;
}

// Contains both directions; ports with contradicting evidence are omitted.
std::map<PortIndex, PortIndex> LinkClaims::RealCables(const std::vector<LinkIndex>& wrong) const {
  std::map<PortIndex, std::set<PortIndex>> said;
  const auto say = [&](PortIndex a, PortIndex b) {
    if (a == kNone || b == kNone || fabric_.port(a).link == fabric_.port(b).link) return;
    said[a].insert(b);
    said[b].insert(a);
  };
  for (const auto& [port, claims] : claims_) {
    for (const LinkClaim& claim : claims) say(port, Resolve(claim.sender, wrong));
  }
  for (const auto& [a, b] : by_counters_) say(a, b);
  std::map<PortIndex, PortIndex> real;
  for (const auto& [port, others] : said) {
    if (others.size() != 1 || said[*others.begin()].size() != 1) continue;
    real[port] = *others.begin();
  }
  return real;
}

CableFinding LinkClaims::FindingOf(std::span<const LinkIndex> links,
                                   const std::map<PortIndex, PortIndex>& real) const {
  CableFinding finding = {.declared = {links.begin(), links.end()}};
  bool closed = links.size() > 1;
  double least = 1;  // lowest confidence of an actual cable
  for (const LinkIndex link : links) {
    for (const PortIndex end : fabric_.link(link).ends) {
      const auto other = real.find(end);
      closed = closed && other != real.end();
      const Cable cable = {end, other == real.end() ? kNone : other->second};
      if (cable[1] != kNone && cable[0] < cable[1]) {
        finding.real.push_back(cable);
        uint64_t flows = 0;
        for (const PortIndex port : cable) {
          const auto claims = claims_.find(port);
          if (claims == claims_.end()) continue;
          for (const LinkClaim& claim : claims->second) flows += claim.flows;
        }
        const bool by_counters =
            std::ranges::find(by_counters_, cable) != by_counters_.end() ||
            std::ranges::find(by_counters_, Cable{cable[1], cable[0]}) != by_counters_.end();
        least = std::min(least, ConfidenceOf(flows, by_counters));
      }
      const auto claims = claims_.find(end);
      if (claims == claims_.end()) continue;
      for (const LinkClaim& claim : claims->second) {
        finding.flows += claim.flows;
        finding.flows_against += claim.against;
        finding.bytes += claim.bytes;
        finding.readings = std::max(finding.readings, claim.readings);
        if (finding.since == Timestamp{} || claim.since < finding.since) {
          finding.since = claim.since;
        }
        if (finding.receiver == kNone || (finding.sender == kNone && claim.sender.node != kNone)) {
          finding.receiver = end;
          finding.sender = claim.sender.node;
        }
      }
    }
  }
  if (closed) {
    finding.kind = CableFindingKind::kSwapped;
    finding.confidence = least;
  } else {
    finding.kind = CableFindingKind::kDisagrees;
    finding.confidence = ConfidenceOf(finding.flows, finding.bytes > 0);
  }
  return finding;
}

std::vector<CableFinding> LinkClaims::Findings() const {
  const std::vector<LinkIndex> wrong = Contradicted();
  const std::map<PortIndex, PortIndex> real = RealCables(wrong);
  // A cable between ends of two links puts both links into one finding, even if nothing else
  // contradicts one of them.
  std::set<LinkIndex> concerned(wrong.begin(), wrong.end());
  for (const auto& [port, other] : real) concerned.insert(fabric_.port(port).link);
  const std::vector<LinkIndex> links(concerned.begin(), concerned.end());
  const auto place = [&](LinkIndex link) {
    return static_cast<uint32_t>(std::ranges::lower_bound(links, link) - links.begin());
  };
  DisjointSets sets(links.size());
  for (const auto& [port, other] : real) {
    sets.Join(place(fabric_.port(port).link), place(fabric_.port(other).link));
  }
  std::map<uint32_t, std::vector<LinkIndex>> together;
  for (const LinkIndex link : links) together[sets.RootOf(place(link))].push_back(link);
  std::vector<CableFinding> findings;
  findings.reserve(together.size());
  for (const auto& [root, members] : together) findings.push_back(FindingOf(members, real));
  return findings;
}

}  // namespace rocescope

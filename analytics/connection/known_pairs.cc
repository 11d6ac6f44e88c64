// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/known_pairs.h"

#include <algorithm>

namespace rocescope {
namespace {

FlowKey FlowTo(const KnownEnd& end, const KnownEnd& from) {
  return {.source = from.address, .destination = end.address, .destination_qpn = end.qpn};
}

bool Same(const KnownEnd& x, const KnownEnd& y) { return x.address == y.address && x.qpn == y.qpn; }

bool Same(const KnownPair& x, const KnownPair& y) {
  return x.source == y.source &&
         ((Same(x.a, y.a) && Same(x.b, y.b)) || (Same(x.a, y.b) && Same(x.b, y.a)));
}

}  // namespace

void KnownPairs::Set(const std::vector<KnownPair>& pairs,
                     const std::vector<KnownQueuePair>& queue_pairs) {
  remotes_.clear();
  for (const KnownQueuePair& known : queue_pairs) {
    std::vector<Qpn>& remotes = remotes_[At(known.address, known.local)];
    if (remotes.size() < kMaxPerNumber) remotes.push_back(known.remote);
  }
  entries_.clear();
  by_flow_.clear();
  refused_ = 0;
  for (const KnownPair& pair : pairs) Add(pair);
}

void KnownPairs::Add(const KnownPair& pair) {
  if (pair.a.address == pair.b.address) return;  // loopback: paired only by CM
  if (entries_.size() >= capacity_) {
    ++refused_;
    return;
  }
  std::vector<uint32_t>& at_a = by_flow_[FlowTo(pair.a, pair.b)];
  const bool told = std::any_of(at_a.begin(), at_a.end(),
                                [&](uint32_t i) { return Same(entries_[i].pair, pair); });
  if (told) return;
  if (at_a.size() >= kMaxPerNumber) {
    ++refused_;
    return;
  }
  const auto index = static_cast<uint32_t>(entries_.size());
  entries_.push_back({.pair = pair, .segment = {}});
  at_a.push_back(index);
  std::vector<uint32_t>& at_b = by_flow_[FlowTo(pair.b, pair.a)];
  if (at_b.size() < kMaxPerNumber) at_b.push_back(index);
}

// Adds a pair if both kernels report each other's queue pair and there is traffic between them.
void KnownPairs::AddMutual(const FlowKey& flow) {
  const auto own = remotes_.find(At(flow.destination, flow.destination_qpn));
  if (own == remotes_.end()) return;
  for (const Qpn remote : own->second) {
    const auto other = remotes_.find(At(flow.source, remote));
    if (other == remotes_.end()) continue;
    if (std::find(other->second.begin(), other->second.end(), flow.destination_qpn) ==
        other->second.end()) {
      continue;
    }
    Add({.a = {.address = flow.destination, .qpn = flow.destination_qpn},
         .b = {.address = flow.source, .qpn = remote},
         .source = KnownPairSource::kRdmaResource,
         .valid_from = {}});
  }
}

std::vector<uint32_t> KnownPairs::Attach(const FlowKey& flow) {
  if (!remotes_.empty()) AddMutual(flow);
  if (entries_.empty()) return {};
  FlowKey anywhere = flow;
  anywhere.segment = 0;
  const auto found = by_flow_.find(anywhere);
  if (found == by_flow_.end()) return {};
  for (const uint32_t index : found->second) {
    Entry& entry = entries_[index];
    if (!entry.segment) entry.segment = flow.segment;
    if (*entry.segment == flow.segment || entry.ambiguous) continue;
    entry.ambiguous = true;
    became_ambiguous_ = true;
  }
  return found->second;
}

std::optional<KnownPairs::Statement> KnownPairs::For(const FlowKey& flow, uint32_t index) const {
  const Entry& entry = entries_[index];
  if (entry.ambiguous) return std::nullopt;
  const bool to_a = Same(entry.pair.a, {flow.destination, flow.destination_qpn}) &&
                    entry.pair.b.address == flow.source;
  return Statement{.partner = (to_a ? entry.pair.b : entry.pair.a).qpn,
                   .source = entry.pair.source,
                   .valid_from = entry.pair.valid_from};
}

uint64_t KnownPairs::ambiguous() const {
  return static_cast<uint64_t>(std::count_if(entries_.begin(), entries_.end(),
                                             [](const Entry& entry) { return entry.ambiguous; }));
}

}  // namespace rocescope

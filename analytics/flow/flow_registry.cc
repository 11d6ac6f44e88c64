// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/flow/flow_registry.h"

#include "dataplane/record/flow_key_hash.h"

namespace rocescope {
namespace {

uint32_t HashOf(const FlowKey& key) { return static_cast<uint32_t>(FlowKeyHash()(key)); }

}  // namespace

void FlowRegistry::SetTime(Timestamp now) {
  if (now_ == Timestamp{}) {
    for (Entry& flow : flows_) flow.last = now;
  }
  now_ = std::max(now_, now);
}

FlowId FlowRegistry::Find(const FlowKey& key) const {
  return slots_[SlotOf(key, HashOf(key))].flow;
}

// Returns the slot of the flow, or the free slot at which the search for it ends.
size_t FlowRegistry::SlotOf(const FlowKey& key, uint32_t hash) const {
  size_t i = hash & Mask();
  while (slots_[i].flow != kNoFlow &&
         (slots_[i].hash != hash || flows_[slots_[i].flow].key != key)) {
    i = Next(i);
  }
  return i;
}

void FlowRegistry::Grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.flow != kNoFlow) slots_[SlotOf(flows_[slot.flow].key, slot.hash)] = slot;
  }
}

void FlowRegistry::Erase(FlowId flow) {
  size_t gap = SlotOf(flows_[flow].key, HashOf(flows_[flow].key));
  // Moves the following entries forward, except those that would get in front of their home slot.
  for (size_t i = Next(gap); slots_[i].flow != kNoFlow; i = Next(i)) {
    const size_t home = slots_[i].hash & Mask();
    if (((i - home) & Mask()) < ((i - gap) & Mask())) continue;
    slots_[gap] = slots_[i];
    gap = i;
  }
  slots_[gap] = {};
}

FlowId FlowRegistry::Intern(const FlowKey& key, uint32_t hint) {
  FlowId flow = hint < hinted_.size() ? hinted_[hint] : kNoFlow;
  // A hint can lead to another flow.
  if (flow >= flows_.size() || flows_[flow].key != key) {
    flow = FindOrAdd(key);
    if (flow == kNoFlow) return kNoFlow;
    Remember(hint, flow);
  }
  flows_[flow].last = now_;
  return flow;
}

FlowId FlowRegistry::FindOrAdd(const FlowKey& key) {
  FlowId flow = Find(key);
  if (flow != kNoFlow) return flow;
  flow = IdForNewFlow();
  if (flow == kNoFlow) {
    ++refused_;
    return kNoFlow;
  }
  flows_[flow].key = key;
  const uint32_t hash = HashOf(key);
  slots_[SlotOf(key, hash)] = {.flow = flow, .hash = hash};
  return flow;
}

// Prefers the id of an outdated flow, then an unused id, then that of an idle flow. Returns kNoFlow
// if the registry is full of active flows.
FlowId FlowRegistry::IdForNewFlow() {
  FlowId flow = FindOutdated();
  if (flow == kNoFlow && flows_.size() < capacity_) {
    if (4 * (flows_.size() + 1) > 3 * slots_.size()) Grow();
    flows_.emplace_back();
    return static_cast<FlowId>(flows_.size() - 1);
  }
  if (flow == kNoFlow) {
    flow = hand_.Find(static_cast<uint32_t>(flows_.size()), IdleSince(),
                      [this](FlowId i) { return flows_[i].last; });
    if (flow == kNoFlow) return kNoFlow;
    ++replaced_;
  }
  for (const auto& forget : forget_) forget(flow);
  Erase(flow);
  return flow;
}

// Returns a flow that was idle for too long, or kNoFlow.
FlowId FlowRegistry::FindOutdated() {
  if (idle_timeout_ == Duration::zero()) return kNoFlow;
  return outdated_hand_.Find(static_cast<uint32_t>(flows_.size()), now_ - idle_timeout_,
                             [this](FlowId i) { return flows_[i].last; });
}

void FlowRegistry::Remember(uint32_t hint, FlowId flow) {
  if (hint >= kFlowCapacity) return;
  if (hint >= hinted_.size()) hinted_.resize(size_t{hint} + hint / 2 + 1, kNoFlow);
  hinted_[hint] = flow;
}

// Consecutive records belong to different flows in different places in memory.
template <typename Record>
void FlowRegistry::InternHinted(const std::vector<Record>& records, std::vector<FlowId>& ids) {
  constexpr size_t kAhead = 8;
  ids.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    if (i + kAhead < records.size()) {
      const uint32_t hint = records[i + kAhead].hint;
      const FlowId guess = hint < hinted_.size() ? hinted_[hint] : kNoFlow;
      if (guess < flows_.size()) PrefetchLines<1>(&flows_[guess]);
    }
    ids.push_back(Intern(records[i].flow, records[i].hint));
  }
}

void FlowRegistry::Intern(const RecordBatch& batch, BatchFlows& ids) {
  InternHinted(batch.flows, ids.flows);
  InternHinted(batch.sightings, ids.sightings);
  const auto intern = [this](const auto& records, std::vector<FlowId>& out) {
    out.clear();
    for (const auto& record : records) {
      out.push_back(record.packet.known ? Intern(record.packet.flow) : kNoFlow);
    }
  };
  intern(batch.hops, ids.hops);
  intern(batch.samples, ids.samples);
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/activity.h"

#include <algorithm>
#include <chrono>

#include "analytics/clock/clock_offsets.h"

namespace rocescope {

void MessageLengths::Add(uint32_t length, uint32_t count) {
  for (One& one : most) {
    if (one.count == 0) one.length = length;
    if (one.length == length) {
      one.count += count;
      return;
    }
  }
  others += count;
}

void ActivityTracker::Begin(Timestamp time) {
  if (begun_) return;
  begun_ = true;
  width_ = options_.first_width;
  // Other taps may report slightly earlier times.
  origin_ = time - std::chrono::nanoseconds(int64_t{64} << width_);
}

// Merges pairs of slots. The time line has not started to slide yet.
void ActivityTracker::Widen() {
  flows_.ForEach([](FlowId, Flow& flow) {
    Bits halved;
    for (size_t i = flow.bits.FirstFrom(0); i < Bits::kCount; i = flow.bits.FirstFrom(i + 1)) {
      halved.Set(i / 2);
    }
    flow.bits = halved;
    flow.newest /= 2;
  });
  newest_ /= 2;
  ++width_;
}

void ActivityTracker::Mark(Flow& flow, Timestamp time) {
  Begin(time);
  const int64_t since = (time - origin_).count();
  if (since < 0) {
    ++late_;
    return;
  }
  while (since >> width_ >= static_cast<int64_t>(Bits::kCount) && width_ < options_.last_width) {
    Widen();
  }
  const auto stretch = static_cast<uint64_t>(since) >> width_;
  newest_ = std::max(newest_, stretch);
  if (stretch < Oldest()) {
    ++late_;
    return;
  }
  if (stretch > flow.newest) {
    const size_t begin = (flow.newest + 1) % Bits::kCount;
    const size_t end = stretch % Bits::kCount;
    if (stretch - flow.newest >= Bits::kCount) {
      flow.bits.Clear();
    } else if (begin <= end) {
      flow.bits.Reset(begin, end);
    } else {
      flow.bits.Reset(begin, Bits::kCount);
      flow.bits.Reset(0, end);
    }
    flow.newest = stretch;
  }
  flow.bits.Set(stretch % Bits::kCount);
  flow.is_known = true;
}

Duration ActivityTracker::Ahead(TapId tap) const {
  return clocks_ == nullptr ? Duration(0) : clocks_->OfTap(tap);
}

// Only the ends of an interval are known; if it contains responses to the other direction, not even
// these.
void ActivityTracker::Add(FlowId id, const FlowRecord& record) {
  if (record.messages == 0 && record.payload_bytes == 0) return;
  for (const OperationClass answer : {OperationClass::kAcknowledge, OperationClass::kCnp}) {
    if (record.class_packets[static_cast<size_t>(answer)] > 0) return;
  }
  Flow* const flow = flows_.FindOrAdd(id);
  if (flow == nullptr || record.ttl < flow->ttl) return;
  flow->ttl = record.ttl;
  const Duration ahead = Ahead(record.tap);
  Mark(*flow, record.first_seen - ahead);
  Mark(*flow, record.last_seen - ahead);
}

void ActivityTracker::Add(FlowId id, const ObservationRecord& record) {
  const bool request = record.kind == ObservationKind::kRequest;
  const bool response = record.kind == ObservationKind::kResponse && record.payload_length > 0;
  if (!request && !response) return;
  Flow* const flow = flows_.FindOrAdd(id);
  if (flow == nullptr || record.ttl < flow->ttl) return;
  if (record.ttl > flow->ttl) flow->lengths = {};
  flow->ttl = record.ttl;
  if (request && record.has_reth && !record.has_clear_to_send) {
    flow->lengths.Add(record.reth_length);
  }
  Mark(*flow, record.event_time - Ahead(record.tap));
}

void ActivityTracker::Cut(FlowId id) {
  if (Flow* const flow = flows_.Find(id); flow != nullptr) *flow = {.newest = flow->newest};
}

TimeLine ActivityTracker::Line() const {
  const uint64_t oldest = Oldest();
  const std::chrono::nanoseconds width(int64_t{1} << width_);
  return {.begin = origin_ + width * static_cast<int64_t>(oldest),
          .width = width,
          .length = begun_ ? static_cast<size_t>(newest_ - oldest + 1) : 0};
}

std::vector<FlowActivity> ActivityTracker::Flows() const {
  const uint64_t oldest = Oldest();
  std::vector<FlowActivity> all;
  flows_.ForEach([&](FlowId id, const Flow& flow) {
    if (!flow.is_known || flow.newest < oldest) return;
    FlowActivity& one = all.emplace_back();
    one.flow = registry_.key(id);
    one.lengths = flow.lengths;
    if (oldest == 0) {
      one.active = flow.bits;
      return;
    }
    for (uint64_t stretch = oldest; stretch <= flow.newest; ++stretch) {
      if (flow.bits.Test(stretch % Bits::kCount)) one.active.Set(stretch - oldest);
    }
  });
  std::ranges::sort(all, {}, &FlowActivity::flow);
  return all;
}

}  // namespace rocescope

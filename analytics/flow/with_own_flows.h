// SPDX-License-Identifier: BSD-3-Clause
// Gives a tracker a flow registry of its own, and interns the flow of each record. Test code only.
#pragma once

#include <cstddef>

#include "analytics/flow/flow_registry.h"

namespace rocescope {

struct FlowCapacity {
  size_t flows = kFlowCapacity;
};

struct OwnFlows {
  explicit OwnFlows(FlowCapacity capacity) : registry(capacity.flows) {}
  FlowRegistry registry;
};

template <typename Tracker>
class WithOwnFlows : public OwnFlows, public Tracker {
 public:
  // `arguments` are those of the tracker's constructor without the registry.
  template <typename... Arguments>
  explicit WithOwnFlows(FlowCapacity capacity, const Arguments&... arguments)
      : OwnFlows(capacity), Tracker(registry, arguments...) {}
  template <typename... Arguments>
  explicit WithOwnFlows(const Arguments&... arguments)
      : WithOwnFlows(FlowCapacity(), arguments...) {}

  void Add(const ManagementRecord& record) { Tracker::Add(record); }
  void Add(const FlowRecord& record) {
    Tracker::Add(registry.Intern(record.flow, record.hint), record);
  }
  void Add(const ObservationRecord& record) {
    Tracker::Add(registry.Intern(record.flow, record.hint), record);
  }
  void Add(const HopRecord& record) { Tracker::Add(registry.Intern(record.packet.flow), record); }
  void Add(const SampleRecord& record) {
    Tracker::Add(registry.Intern(record.packet.flow), record);
  }
  void Add(const RecordBatch& batch) {
    BatchFlows flows;
    registry.Intern(batch, flows);
    Tracker::Add(batch, flows);
  }
  template <typename... Time>
  void Cut(const FlowKey& flow, Time... time) {
    Tracker::Cut(registry.Intern(flow), time...);
  }
  void SetTime(Timestamp now) { registry.SetTime(now); }
  void Advance(Timestamp now) {
    registry.SetTime(now);
    Tracker::Advance(now);
  }
};

}  // namespace rocescope

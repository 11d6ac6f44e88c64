// SPDX-License-Identifier: BSD-3-Clause
// The history of all counters of a run of the flow model. A counter is a sum of integer counts,
// each of which is a series scaled and rounded down. All ports on the path of a flow refer to the
// same count, so that frames are conserved exactly: what a port sends is what its peer receives
// plus what the link loses.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"
#include "sim/flow/series.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct FlowHistory {
  struct Count {
    uint32_t series = 0;
    double scale = 1;
  };
  struct Term {
    uint32_t count = 0;
    int32_t weight = 1;
  };
  struct Step {
    SimTime time;
    uint64_t value;
  };
  // One value of an entity. A counter has terms. A gauge has steps; only GPU utilisation has `busy`
  // instead: it is the share of time in which these series grew.
  struct Value {
    std::vector<Term> terms;
    std::vector<Step> steps;
    std::vector<Count> busy;
  };
  struct Entity {
    CounterEntity id;
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex port = topology::kNone;  // kNone: a GPU
    uint32_t first_value = 0;
    std::vector<Metric> metrics;
  };
  // A time in which a node, or one of its NICs, does not answer.
  struct Outage {
    topology::NodeIndex node;
    topology::PortIndex port;  // port of the NIC; kNone: the whole node
    SimTime begin;
    SimTime end;
  };

  SimTime duration = 0;
  std::vector<Series> series;
  std::vector<Count> counts;
  std::vector<Entity> entities;
  std::vector<Value> values;
  std::vector<Outage> outages;  // ordered by begin
};

// Builds a history. Its entities are the same as in the packet model: ports and NICs, their data
// priority, and GPUs.
class HistoryBuilder {
 public:
  // `fec`: ports have counters of FEC codewords.
  HistoryBuilder(const topology::Fabric& fabric, uint8_t data_priority, bool fec);

  const std::vector<FlowHistory::Entity>& entities() const { return history_.entities; }
  uint32_t AddSeries() {
    history_.series.emplace_back();
    return static_cast<uint32_t>(history_.series.size() - 1);
  }
  Series& series(uint32_t number) { return history_.series[number]; }
  uint32_t AddCount(uint32_t series, double scale) {
    history_.counts.push_back({series, scale});
    return static_cast<uint32_t>(history_.counts.size() - 1);
  }

  // Adds a count to a counter of a port, or of its data priority if the metric is counted by
  // priority.
  void AddToPort(topology::PortIndex port, Metric metric, uint32_t count, int32_t weight = 1);
  // Adds frames and bytes that the port sends and its peer receives.
  void AddSent(topology::PortIndex sender, uint32_t frames, uint32_t bytes, int32_t weight = 1);
  void SetPort(topology::PortIndex port, Metric gauge, SimTime time, uint64_t value);
  void SetGpu(topology::GpuIndex gpu, Metric gauge, SimTime time, uint64_t value);
  void AddGpuBusy(topology::GpuIndex gpu, uint32_t series, double scale);
  void AddOutage(topology::NodeIndex node, topology::PortIndex port, SimTime begin, SimTime end);

  // The value of a counter at a time.
  uint64_t ValueAt(topology::PortIndex port, Metric metric, SimTime time);

  FlowHistory Finish(SimTime duration);

 private:
  FlowHistory::Value& ValueOf(uint32_t entity, Metric metric);
  FlowHistory::Value& PortValue(topology::PortIndex port, Metric metric);
  void AddEntity(CounterEntity id, topology::NodeIndex node, topology::PortIndex port,
                 std::span<const Metric> metrics);
  void Set(FlowHistory::Value& value, SimTime time, uint64_t number);

  const topology::Fabric& fabric_;
  FlowHistory history_;
  std::vector<uint32_t> entity_of_port_;    // ports of switches and NICs; kNone: not connected
  std::vector<uint32_t> priority_of_port_;  // the entity of the data priority
  std::vector<uint32_t> entity_of_gpu_;
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// Counters of the fabric's ports by source. sFlow agents and named counters are kept apart, because
// they differ in whether they count the frame check sequence.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/cabling/port_history.h"
#include "analytics/cabling/unknown_node_log.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

enum class CounterSource : uint8_t { kNamed, kSflow };
inline constexpr std::array<CounterSource, 2> kCounterSources = {CounterSource::kNamed,
                                                                 CounterSource::kSflow};

class FabricCounters {
 public:
  // `fabric` must outlive this object.
  explicit FabricCounters(const topology::Fabric& fabric) : fabric_(fabric) {}

  void Add(const CounterRecord& record);
  // `values` contains one value for each metric of the group.
  void Add(const ReadingRecord& reading, std::span<const uint64_t> values);

  // A port whose link was down. Cables can be exchanged only while their links are down.
  struct Interruption {
    topology::PortIndex port = topology::kNone;
    Timestamp time;  // when a reading showed it
  };
  // Returns the interruptions since the previous call.
  std::vector<Interruption> TakeInterruptions() { return std::exchange(interruptions_, {}); }
  // Discards byte counter readings of the port that are older than `time`.
  void DropReadingsBefore(topology::PortIndex port, Timestamp time);

  // Null: the source reports nothing for this port.
  const PortHistory* Of(CounterSource source, topology::PortIndex port) const;
  // Whether the source reports any port of the node.
  bool TellsOf(CounterSource source, topology::NodeIndex node) const;
  // Link state history of the source with more readings; null: no source reports it.
  const PortHistory* StateOf(topology::PortIndex port) const;
  // Time of the latest reading.
  Timestamp last() const { return last_; }

  // Metrics of one reading arrive in consecutive records.
  struct Series {
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex port = topology::kNone;  // kNone: has no link in the topology
    PortHistory history;
    Timestamp open;
    std::optional<uint64_t> received;
    std::optional<uint64_t> sent;
  };
  // Keyed by "NODE:PORT": ports that are not in the topology or have no link there.
  const std::map<std::string, Series>& unexpected() const { return unexpected_; }
  // Readings of nodes that are not in the topology.
  UnknownNodes strangers() const { return strangers_.Answer(); }

 private:
  static constexpr size_t kMaxUnexpected = 256;

  // The owner of an entity's counters.
  struct Owner {
    Series* series = nullptr;  // null: not used
    std::string stranger;      // empty: the entity is known
  };
  Owner OwnerOf(const CounterEntity& entity);
  Series* Find(const CounterEntity& entity, std::string& stranger);
  void AddTo(Series& series, Metric metric, uint64_t value, Timestamp time);
  Series* FindUnexpected(topology::NodeIndex node, const std::string& name);
  topology::NodeIndex FindNode(const CounterEntity& entity) const;

  const topology::Fabric& fabric_;
  std::array<std::unordered_map<topology::PortIndex, Series>, 2> series_;  // indexed by source
  std::array<std::unordered_map<topology::NodeIndex, uint32_t>, 2> ports_of_;
  std::map<std::string, Series> unexpected_;
  UnknownNodeLog strangers_;
  Timestamp last_;
  std::vector<Interruption> interruptions_;
  // Cache for the entity of the previous record, because consecutive records mostly have the same
  // entity.
  CounterEntity entity_;
  Owner owner_;
  bool asked_ = false;
  ByCounterGroup<Owner> owners_;
};

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Counters of the fabric's ports, from whoever tells them, and by ports. Switches' sFlow agents and
// named counters are kept apart: one counts frame check sequences, the other does not.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

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
  // The fabric must outlive it.
  explicit FabricCounters(const topology::Fabric& fabric) : fabric_(fabric) {}

  void Add(const CounterRecord& record);

  // Null: that one tells nothing of the port.
  const PortHistory* Of(CounterSource source, topology::PortIndex port) const;
  // Whether it tells of any port of the node.
  bool TellsOf(CounterSource source, topology::NodeIndex node) const;
  // A port's link state, by whom has more to say of it; null: nobody has.
  const PortHistory* StateOf(topology::PortIndex port) const;
  // The last of all readings.
  Timestamp last() const { return last_; }

  // Metrics of one reading come one behind the other.
  struct Series {
    topology::NodeIndex node = topology::kNone;
    PortHistory history;
    Timestamp open;
    std::optional<uint64_t> received;
    std::optional<uint64_t> sent;
  };
  // Ports that the topology has not, or that have no link there: by "NODE:PORT".
  const std::map<std::string, Series>& unexpected() const { return unexpected_; }
  // Readings of nodes that the topology has not.
  UnknownNodes strangers() const { return strangers_.Answer(); }

 private:
  static constexpr size_t kMaxUnexpected = 256;

  Series* Find(const CounterEntity& entity);
  Series* FindUnexpected(topology::NodeIndex node, const std::string& name);
  topology::NodeIndex FindNode(const CounterEntity& entity) const;

  const topology::Fabric& fabric_;
  std::array<std::unordered_map<topology::PortIndex, Series>, 2> series_;  // by source
  std::array<std::unordered_map<topology::NodeIndex, uint32_t>, 2> ports_of_;
  std::map<std::string, Series> unexpected_;
  UnknownNodeLog strangers_;
  Timestamp last_;
  // Of the record before: most are of the same entity.
  CounterEntity entity_;
  Series* found_ = nullptr;
  std::string stranger_;  // empty: it is none
  bool asked_ = false;
};

}  // namespace rocescope

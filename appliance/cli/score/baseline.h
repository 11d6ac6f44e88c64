// SPDX-License-Identifier: BSD-3-Clause
// What rules without a model would have said of a run, to hold the diagnosis against: whether
// something is wrong, and at which link. They know no kinds of faults.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/record/record.h"

namespace rocescope {

namespace topology {
class Fabric;
}
namespace v1 {
class FindingScore;
class ReplayReport;
class Truth;
}  // namespace v1

inline constexpr std::string_view kUtilisationBaseline = "link utilisation above 90 %";
inline constexpr std::string_view kVotingBaseline = "votes of flows that lost packets (007)";

// NODE:PORT-NODE:PORT, by each of its two.
using LinkOfPort = std::map<std::string, std::string>;
LinkOfPort LinksByPort(const topology::Fabric& fabric);

struct Alarm {
  std::string link;
  int64_t from_ns = 0;
  int64_t until_ns = 0;
  double strength = 0;  // comparable within one baseline
};

// A threshold over what ports count: an alarm for each window in which a port sent more than 0.9 of
// what its link carries. Ports without a link, or without counters of octets and speed, are let be.
class UtilisationBaseline {
 public:
  // Readings that are nearer to each other than a window are taken together.
  explicit UtilisationBaseline(int64_t window_ns) : window_ns_(window_ns) {}

  // Of switches' ports and NICs, by time.
  void Take(std::span<const CounterRecord> records);
  std::vector<Alarm> Alarms(const LinkOfPort& links) const;

 private:
  struct Reading {
    int64_t time_ns = 0;
    uint64_t bytes = 0;
  };
  struct PortState {
    bool has_reading = false;
    Reading last;
    uint64_t bits_per_second = 0;
    std::vector<Alarm> alarms;  // without a link yet
  };
  void TakeBytes(const CounterRecord& record, PortState& port) const;

  const int64_t window_ns_;
  std::map<std::string, PortState> ports_;  // by NODE:PORT
};

// Arzani et al., 007: Democratically finding the cause of packet drops, NSDI 2018, algorithm 1:
// each flow with packets that were lost or sent again gives each of the h links on its path 1/h of
// a vote. The link with most is to blame if it has 1 % of all votes. A link's two directions are
// voted for apart. The alarm is about the whole run: reports do not say when losses were.
std::vector<Alarm> VotingAlarms(const v1::ReplayReport& report, const LinkOfPort& links);

// Adds how the strongest alarm did. In a run with visible faults it is that of the time from the
// first effect on; it is at the right place if at the faulty link, whichever direction, or at a
// link of the faulty switch or NIC, or of a faulty GPU's host.
void ScoreBaseline(const v1::Truth& truth, std::string_view name, std::span<const Alarm> alarms,
                   v1::FindingScore& score);

}  // namespace rocescope

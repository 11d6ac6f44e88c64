// SPDX-License-Identifier: BSD-3-Clause
// Baselines for the diagnosis: simple rules that detect whether there is a fault, and at which
// link. They do not distinguish fault types.
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
inline constexpr std::string_view kVotingBaseline = "loss votes (007)";

// NODE:PORT-NODE:PORT, addressed by either of its ports.
using LinkOfPort = std::map<std::string, std::string>;
LinkOfPort LinksByPort(const topology::Fabric& fabric);

struct Alarm {
  std::string link;
  int64_t from_ns = 0;
  int64_t until_ns = 0;
  double strength = 0;  // comparable within one baseline only
};

// A threshold on port counters: raises an alarm for each window in which a port sent more than 0.9
// of its link's capacity. Ports without a link, or without byte counters and speed, are ignored.
class UtilisationBaseline {
 public:
  // Readings with an interval shorter than one window are combined.
  explicit UtilisationBaseline(int64_t window_ns) : window_ns_(window_ns) {}

  // Counters of switch ports and NICs, by time.
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
    std::vector<Alarm> alarms;  // includes ports without a link
  };
  void TakeBytes(const CounterRecord& record, PortState& port) const;

  const int64_t window_ns_;
  std::map<std::string, PortState> ports_;  // by NODE:PORT
};

// Arzani et al., 007: Democratically finding the cause of packet drops, NSDI 2018, algorithm 1:
// each flow with lost or retransmitted packets gives each of the h links on its path 1/h of a vote.
// The link with the most votes is reported if it has at least 1 % of all votes. The two directions
// of a link are counted separately. The alarm covers the whole run because reports do not contain
// the time of losses.
std::vector<Alarm> VotingAlarms(const v1::ReplayReport& report, const LinkOfPort& links);

// Adds the result of the strongest alarm. In a run with visible faults, alarms before the first
// effect are ignored. The place is right if it is the faulty link (in either direction), or a link
// of the faulty switch or NIC, or of the faulty GPU's host.
void ScoreBaseline(const v1::Truth& truth, std::string_view name, std::span<const Alarm> alarms,
                   v1::FindingScore& score);

}  // namespace rocescope

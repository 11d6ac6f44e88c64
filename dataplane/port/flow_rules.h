// SPDX-License-Identifier: BSD-3-Clause
// Rules in a NIC that bring what tells of congestion and loss by a queue of its own, so that a
// burst of data does not crowd it out: CNPs and NAKs. Not ACKs: a NIC's queues are read in turn,
// and an ACK that passed or waited for its requests would tell a wrong round trip. CNPs have no
// PSN, and a NAK's says which packet was expected, whatever came before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocescope {

struct SteeringRules {
  std::vector<std::string> installed;      // of "CNPs" and "NAKs"
  std::vector<std::string> not_installed;  // the rest
  std::string refused;                     // why, in the driver's words; empty if there is no rest
};

// Installs what a started port's driver accepts (rte_flow_validate is asked first) and nothing
// else. Plain IPv4 RoCEv2 alone: inside of a mirror's header no NIC looks. The rules go when the
// port is stopped. The queue must have no share of the hash. Spread frames by software, for they
// come to an lcore that may not own them.
SteeringRules SteerCongestionSignals(uint16_t port, uint16_t queue);

}  // namespace rocescope

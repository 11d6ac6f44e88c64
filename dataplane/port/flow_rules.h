// SPDX-License-Identifier: BSD-3-Clause
// Rules in a NIC that keep a queue for what tells of congestion and loss, so that a burst of data
// does not crowd it out: CNPs, and ACKs, among which NAKs are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocescope {

struct SteeringRules {
  std::vector<std::string> installed;  // "CNP", "ACK"
  std::string refused;                 // why the rest is not, in the driver's words; may be empty
};

// Installs what a started port's driver accepts (rte_flow_validate is asked first) and nothing
// else. Plain IPv4 RoCEv2 alone: inside of a mirror's header no NIC looks. The rules go when the
// port is closed. Frames come by another queue then: spread them by software.
SteeringRules SteerCongestionSigns(uint16_t port, uint16_t queue);

}  // namespace rocescope

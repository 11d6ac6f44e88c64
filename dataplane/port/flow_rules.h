// SPDX-License-Identifier: BSD-3-Clause
// NIC flow rules that steer congestion and loss signals (CNPs and NAKs) to a separate queue, so
// that a burst of data does not displace them. ACKs are excluded: queues are polled in turn, and an
// ACK that overtakes its request or waits would falsify the round-trip time. CNPs have no PSN, and
// a NAK contains the expected PSN, so their order does not matter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocescope {

struct SteeringRules {
  std::vector<std::string> installed;      // some of "CNPs" and "NAKs"
  std::vector<std::string> not_installed;  // the others
  std::string refused;                     // the driver's reason; empty if all were installed
};

// Installs the rules that the driver of a started port accepts (according to rte_flow_validate).
// The rules match plain IPv4 RoCEv2 only, because no NIC parses the inner headers of a mirror. They
// are removed when the port stops. The queue must not be part of the RSS table. Frames must be
// distributed by software, because the queue's lcore may not own them.
SteeringRules SteerCongestionSignals(uint16_t port, uint16_t queue);

}  // namespace rocescope

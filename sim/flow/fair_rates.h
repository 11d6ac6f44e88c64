// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair rates: the rates of all flows increase together until a link is full. The flows on
// this link keep their rates, and the rates of the others increase further (the "bottleneck"
// algorithm; Bertsekas and Gallager, Data Networks, 6.5.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocescope::sim {

// A user is a set of flows that have the same rate, for example a lane (README.md).
struct FairLink {
  struct Use {
    uint32_t user;
    double share;  // load on the link per unit of the user's rate
  };
  double capacity = 0;
  std::vector<Use> uses;
};

// Returns the rate of each user, at most `limits[user]`. Users that are not active (`active[user]`
// is false) have rate 0. `full`, if not null, is set to whether each link is full. Capacities,
// shares and limits must not be negative.
std::vector<double> FairRates(std::span<const FairLink> links, std::span<const double> limits,
                              const std::vector<bool>& active, std::vector<bool>* full = nullptr);

}  // namespace rocescope::sim

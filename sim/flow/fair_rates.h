// SPDX-License-Identifier: BSD-3-Clause
// Max-min fair rates: all flows grow together until a link is full; the flows on it keep their
// rate, and the others grow on (the "bottleneck" algorithm; Bertsekas and Gallager, Data
// Networks, 6.5.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocescope::sim {

// A user is a set of flows that have the same rate, for example those of one collective.
struct FairLink {
  struct Use {
    uint32_t user;
    double share;  // load on the link per unit of the user's rate: the mean number of its flows
  };
  double capacity = 0;
  std::vector<Use> uses;
};

// Returns the rate of each user, at most `limits[user]`. Users that are not active (`active[user]`
// is false) have rate 0. `full`, if given, receives whether each link is full. Capacities, shares
// and limits must not be negative.
std::vector<double> FairRates(std::span<const FairLink> links, std::span<const double> limits,
                              const std::vector<bool>& active, std::vector<bool>* full = nullptr);

}  // namespace rocescope::sim

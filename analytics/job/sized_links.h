// SPDX-License-Identifier: BSD-3-Clause
// Members of communicators without a name that packets show to be of one. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analytics/job/sized_communicators.h"

namespace rocescope {

// A member of a class, and those of which one is its peer, by their places in it; ascending.
struct SizedLink {
  size_t in = 0;  // the class
  uint32_t member = 0;
  std::vector<uint32_t> peers;
};

// One for each queue pair of which the log says the peer's rank (or several that it may be), and of
// which packets go to an address at which processes have it: several if they share a NIC.
// `meetings` ascend.
std::vector<SizedLink> LinksOf(std::span<const LoggedProcess> processes,
                               std::span<const SizedClass> classes,
                               std::span<const QueuePairMeeting> meetings);

}  // namespace rocescope

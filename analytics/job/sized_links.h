// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: links members of unidentified communicators that exchanged packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analytics/job/sized_communicators.h"

namespace rocescope {

// A member of a SizedClass and its possible peers, ascending (indices into SizedClass::members).
struct SizedLink {
  size_t in = 0;  // the class
  uint32_t member = 0;
  std::vector<uint32_t> peers;
};

// Returns one link per queue pair for which the log states the peer's rank (or several candidates)
// and whose packets go to an address of a process with that rank. Of a process whose log contains
// no queue pair, returns one link per channel whose NIC sends data to an address of a process with
// the peer's rank. If several ranks share a NIC, a link has several peers.
std::vector<SizedLink> LinksOf(std::span<const LoggedProcess> processes,
                               std::span<const SizedClass> classes, const JobEvidence& evidence);

}  // namespace rocescope

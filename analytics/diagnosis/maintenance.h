// SPDX-License-Identifier: BSD-3-Clause
// Links, hosts and switches that are down because somebody works on them.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/link_history.h"
#include "topology/fabric.h"

namespace rocescope {

// Windows in or next to which a port of the link was disabled by its configuration.
std::vector<bool> WindowsDisabled(const DiagnosisInput& input, topology::LinkIndex link);

// A NIC that is down reports no counters, while the switch reports that the link is down. False if
// counters are not read in each window.
bool IsSilent(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history);

// Whether a host that is down or restarts explains that the link of its NIC was down in windows
// `from` to `until` - 1: all of its NICs and GPUs report nothing any more. Then the fabric has no
// fault.
bool IsHostDown(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistories& histories,
                size_t from, size_t until);

// Whether it is too early to say why the link of a NIC is down. If devices are not read at window
// ends, it takes some windows until it is clear whether the NIC and its host still report.
bool IsTooEarly(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history);

// Whether a switch was drained for maintenance before it went down.
enum class Drain : uint8_t {
  kNone,     // it lost traffic, or jobs used the NICs of a leaf
  kUnclear,  // it had carried no traffic at all, no NIC noticed a loss, or the NICs of a leaf idled
  kDrained,  // it had carried traffic, and carried none any more while most of its tier did
};
Drain DrainOf(const DiagnosisInput& input, topology::NodeIndex node, const SwitchOutage& outage);

}  // namespace rocescope

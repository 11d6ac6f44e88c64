// SPDX-License-Identifier: BSD-3-Clause
// Facts about this machine that explain packet loss and slow processing, for support bundles.
#pragma once

#include <string>

namespace rocescope {

// Text with the kernel and its parameters for DPDK, CPU, memory, hugepages, network interfaces with
// drivers and drop counters, and devices of DPDK drivers. Facts that the kernel does not report are
// left out. No hardware addresses and no other kernel parameters, which may contain secrets. `root`
// is prefixed to /proc and /sys.
std::string SystemFacts(const std::string& root = "");

}  // namespace rocescope

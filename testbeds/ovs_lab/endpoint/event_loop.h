// SPDX-License-Identifier: BSD-3-Clause
// Drives a host with the packets of its interfaces and the clock of the machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbeds/ovs_lab/endpoint/host.h"
#include "testbeds/ovs_lab/endpoint/packet_socket.h"
#include "testbeds/ovs_lab/endpoint/reports.h"

namespace rocescope::endpoint {

struct RunOptions {
  std::vector<std::string> interfaces;  // the interface for each NIC of the host, in topology order
  std::string directory;
};

// Runs until SIGINT, SIGTERM or the end of the plan. The error is that of a file that could not be
// written, or of an interface that could not be opened.
Status RunHost(const LabPlan& plan, topology::NodeIndex host, const RunOptions& options);

}  // namespace rocescope::endpoint

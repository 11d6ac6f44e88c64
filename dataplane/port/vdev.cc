// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/vdev.h"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "dataplane/port/eal_log.h"

namespace rocescope {

Result<std::unique_ptr<VirtualDevice>> VirtualDevice::Plug(const std::string& name,
                                                           const std::string& arguments) {
  EalLog& log = EalLog::Install();
  log.Collect(true);
  const int error = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str());
  const std::string said = log.TakeProblems();
  log.Collect(false);
  uint16_t port = 0;
  if (error != 0 || rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("cannot create virtual device {} with {}: {}", name, arguments,
                                 said.empty() ? rte_strerror(-error) : OneLine(said)));
  }
  return std::unique_ptr<VirtualDevice>(new VirtualDevice(name, port));
}

VirtualDevice::~VirtualDevice() { rte_eal_hotplug_remove("vdev", name_.c_str()); }

}  // namespace rocescope

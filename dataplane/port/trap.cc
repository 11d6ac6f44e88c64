// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/trap.h"

#include <fmt/format.h>

namespace rocescope {
namespace {

// Neighbour discovery and the like reach even a port that is trapped, a few frames a second.
constexpr uint64_t kEnoughFrames = 1000;
constexpr uint64_t kFewOf = 100;  // less than 1 % delivered

uint64_t Between(uint64_t before, uint64_t after) { return after < before ? 0 : after - before; }

}  // namespace

bool LooksTrapped(const TrapReading& before, const TrapReading& after) {
  const uint64_t on_wire = Between(before.on_wire, after.on_wire);
  const uint64_t delivered = Between(before.delivered, after.delivered);
  return on_wire >= kEnoughFrames && delivered < on_wire / kFewOf;
}

std::string DescribeTrap(std::string_view port, const TrapReading& before,
                         const TrapReading& after) {
  if (!LooksTrapped(before, after)) return {};
  return fmt::format(
      "port {}: its hardware counted {} frames, of which {} arrived here or found no room: a NIC "
      "with RDMA takes UDP 4791 "
      "for itself. Unbind its RDMA driver (rmmod mlx5_ib, or devlink dev param set pci/{} name "
      "enable_roce value false cmode driverinit and devlink dev reload), or receive on a NIC "
      "without RDMA",
      port, Between(before.on_wire, after.on_wire), Between(before.delivered, after.delivered),
      port);
}

std::string RdmaTrapDetector::Look(std::string_view port, const TrapReading& now) {
  if (told_) return {};
  const bool trapped = LooksTrapped(well_, now);
  told_ = trapped;
  if (trapped) return DescribeTrap(port, well_, now);
  // A few frames more may be needed to say anything.
  if (Between(well_.on_wire, now.on_wire) >= kEnoughFrames || now.on_wire < well_.on_wire) {
    well_ = now;
  }
  return {};
}

}  // namespace rocescope

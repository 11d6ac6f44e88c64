// SPDX-License-Identifier: BSD-3-Clause
#include "topology/near_nic.h"

namespace rocescope::topology {

NicIndex NicNear(const Fabric& fabric, GpuIndex gpu) {
  const Gpu& of = fabric.gpu(gpu);
  if (of.nic != kNone) return of.nic;
  for (const NicIndex nic : fabric.NicsOf(of.host)) {
    if (fabric.nic(nic).rail == of.rail) return nic;
  }
  return kNone;
}

}  // namespace rocescope::topology

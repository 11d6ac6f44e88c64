// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

// Returns NODE:PORT for a port, HOST:DEVICE for a NIC, HOST:gpu:NUMBER for a GPU, or the host's
// name; without the priority.
std::string PlaceOf(const topology::Fabric& fabric, const Entity& entity);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

// A port NODE:PORT, a NIC HOST:DEVICE, HOST:gpu:NUMBER, a host; without the priority.
std::string PlaceOf(const topology::Fabric& fabric, const Entity& entity);

}  // namespace rocescope

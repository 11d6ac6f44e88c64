// SPDX-License-Identifier: BSD-3-Clause
// Converts points of a time series to messages.
#pragma once

#include "appliance/daemon/history/queries.h"

namespace rocescope {

namespace v1 {
class JobPoint;
class LinkPoint;
}  // namespace v1

void FillPoint(const LinkPoint& point, v1::LinkPoint& out);
void FillPoint(const JobPoint& point, v1::JobPoint& out);

}  // namespace rocescope

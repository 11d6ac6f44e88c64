// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rocescope {

// Lowers the priority of the calling thread below receiving and serving threads that share its
// cores.
void LowerThreadPriority();

// Lowers the priority of the calling thread less than LowerThreadPriority: for threads that serve
// the dashboard, below threads that serve schedulers.
void StepAside();

// Raises the priority of the calling thread above all others. Returns false if the system does not
// permit it (requires root or CAP_SYS_NICE).
bool StepForward();

}  // namespace rocescope

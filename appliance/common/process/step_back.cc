// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/step_back.h"

#include <sys/resource.h>
#include <unistd.h>

namespace rocescope {
namespace {

// On Linux this sets the priority of the calling thread, despite the name (setpriority(2)).
bool SetNice(int nice) { return setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice) == 0; }

}  // namespace

void LowerThreadPriority() { (void)SetNice(10); }
void StepAside() { (void)SetNice(5); }
bool StepForward() { return SetNice(-20); }

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/life/step_back.h"

#include <sys/resource.h>
#include <unistd.h>

namespace rocescope {
namespace {

// Linux has a priority for each thread, in spite of the name (setpriority(2)).
void SetNice(int nice) { (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice); }

}  // namespace

void StepBack() { SetNice(10); }
void StepForward() { SetNice(-20); }

}  // namespace rocescope

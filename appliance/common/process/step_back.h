// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace rocescope {

// Of the calling thread: who receives and who answers go first, and it takes what is left of the
// cores that they share.
void LowerThreadPriority();

// Likewise, but behind schedulers' calls alone: whoever looks at a page waits for them.
void StepAside();

// Of the calling thread: it goes before all others, where the system lets it (root, CAP_SYS_NICE).
// False: it does not let it.
bool StepForward();

}  // namespace rocescope

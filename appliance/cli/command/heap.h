// SPDX-License-Identifier: BSD-3-Clause
// How the process takes memory from the kernel.
#pragma once

namespace rocescope {

// Call first in main. A run's tables grow by doubling and live until its end; a page fault costs
// microseconds on a virtual machine, several times what the page's contents cost. So the heap grows
// in large steps, on large pages where the kernel has them, and gives nothing back meanwhile.
void PrepareHeap();

}  // namespace rocescope

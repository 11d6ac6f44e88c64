// SPDX-License-Identifier: BSD-3-Clause
// Heap settings of the process.
#pragma once

namespace rocescope {

// Call this first in main. The tables of a run grow by doubling and live until its end, and a page
// fault on a virtual machine costs several times as much as writing the page. So the heap grows in
// large steps, uses huge pages if the kernel has them, and returns no memory to the kernel.
void PrepareHeap();

}  // namespace rocescope

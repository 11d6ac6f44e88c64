// SPDX-License-Identifier: BSD-3-Clause
// The trap of RoCE NICs: with an RDMA driver bound, a NIC may take UDP 4791 for its own queue pairs
// before any receive queue sees it. The port counts frames on its wire and delivers none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

struct TrapReading {
  uint64_t on_wire = 0;    // frames that the hardware counted
  uint64_t delivered = 0;  // frames that the driver handed over or had to drop for want of room
};

// Whether between two readings the hardware took many frames of which next to none were delivered.
bool LooksTrapped(const TrapReading& before, const TrapReading& after);

// What that means and what to do, as a sentence that names the port; empty if it is not so.
std::string DescribeTrap(std::string_view port, const TrapReading& before,
                         const TrapReading& after);

// Looks at a port again and again.
class RdmaTrapDetector {
 public:
  // The sentence above, when what came since it last looked all was well says so: once.
  std::string Look(std::string_view port, const TrapReading& now);

 private:
  TrapReading well_;
  bool told_ = false;
};

}  // namespace rocescope

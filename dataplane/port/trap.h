// SPDX-License-Identifier: BSD-3-Clause
// Detects a pitfall of RDMA NICs: with an RDMA driver bound, a NIC may deliver UDP port 4791 to its
// own queue pairs in place of the receive queues. The port then counts frames on the wire and
// delivers none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

struct TrapReading {
  uint64_t on_wire = 0;    // frames that the hardware counted
  uint64_t delivered = 0;  // frames that the driver delivered or dropped for lack of buffers
};

// True if the hardware counted many frames between the readings and almost none were delivered.
bool LooksTrapped(const TrapReading& before, const TrapReading& after);

// Returns a sentence that names the port and says what to do, or an empty string if LooksTrapped is
// false.
std::string DescribeTrap(std::string_view port, const TrapReading& before,
                         const TrapReading& after);

// Checks a port repeatedly.
class RdmaTrapDetector {
 public:
  // Returns the sentence above once when it applies to the frames since the last check without a
  // problem.
  std::string Look(std::string_view port, const TrapReading& now);

 private:
  TrapReading well_;
  bool told_ = false;
};

}  // namespace rocescope

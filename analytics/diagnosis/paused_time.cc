// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/paused_time.h"

namespace rocescope {

Row PausedTime(const DiagnosisInput& input, topology::PortIndex port, uint8_t priority) {
  Row held = input.Growth(input.EntityOf(port, priority), Metric::kPfcRxTime);
  const topology::PortIndex peer = input.fabric().Peer(port);
  if (peer != topology::kNone &&
      !input.HasMetric(input.EntityOf(port, priority), Metric::kPfcRxTime)) {
    held = input.Growth(input.EntityOf(peer, priority), Metric::kPfcTxTime);
  }
  return held;
}

}  // namespace rocescope

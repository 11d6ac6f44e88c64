// SPDX-License-Identifier: BSD-3-Clause
// The files of a run directory that a real fabric would have given: captures, counters, logs.
#pragma once

#include <memory>
#include <string>

#include "sim/emit/collector_port.h"
#include "sim/emit/fan_out.h"
#include "sim/emit/mirror.h"
#include "sim/emit/packet.h"
#include "sim/emit/pcap_file.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

class Telemetry {
 public:
  // The network must outlive it.
  static Result<std::unique_ptr<Telemetry>> Make(const Scenario& scenario, Network& network,
                                                 const std::string& directory);

  // Writes the rest.
  Status Finish();

  const CollectorPort::Counts* mirror_counts() const {
    return mirror_port_ ? &mirror_port_->counts() : nullptr;
  }

 private:
  explicit Telemetry(Network& network) : packets_(network) {}
  Status OpenMirror(const Scenario& scenario, Network& network, const std::string& directory);

  PacketWriter packets_;
  FanOut observers_;
  std::unique_ptr<PcapFile> mirror_file_;
  std::unique_ptr<CollectorPort> mirror_port_;
  std::unique_ptr<Mirror> mirror_;
};

}  // namespace rocescope::sim

// SPDX-License-Identifier: BSD-3-Clause
// The ports and the lcores' receive loops over their queues.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/port/port.h"
#include "dataplane/port/port_findings.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/spread_by.h"

namespace rocescope {

using Ports = std::vector<std::unique_ptr<Port>>;
using Loops = std::vector<std::unique_ptr<ReceiveLoop>>;

class PortSet {
 public:
  struct Options {
    std::vector<std::string> ports;  // device names or numbers; empty: all ports that EAL found
    uint16_t lcores = 1;             // number of receiving lcores
    SpreadBy spread = SpreadBy::kAuto;
    uint32_t mbufs = 0;  // per port's pool; 0: enough for its queues
  };

  // Configures the ports without starting them.
  static Result<PortSet> Open(const Options& options);

  std::vector<std::string> Names() const;

  // Creates the loops and assigns queues to lcores in round-robin order. The ports' names in
  // `processor.taps` begin at `first_tap`. The budget of packet observations is divided among the
  // lcores, unless `processor` already has a shared rate.
  Status MakeLoops(const FrameProcessor::Options& processor, TapId first_tap);

  Status Start();
  // For started ports: returns an error if kRss was requested and the NICs do not support it.
  Status CheckSpread() const;

  const Ports& ports() const { return ports_; }
  const Loops& loops() const { return loops_; }

 private:
  explicit PortSet(Options options) : options_(std::move(options)) {}
  bool BySoftware() const;

  Options options_;
  Ports ports_;
  Loops loops_;  // destroyed before their ports
};

// Current counters of a port; the caller supplies the maximum number of mbufs in use.
PortFindings FindingsOf(const Port& port, uint32_t mbufs_peak);

}  // namespace rocescope

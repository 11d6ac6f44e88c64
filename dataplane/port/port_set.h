// SPDX-License-Identifier: BSD-3-Clause
// Ports, and the lcores' loops over their queues.
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
    std::vector<std::string> ports;  // device names or numbers; none: all that EAL found
    uint16_t lcores = 1;             // that receive
    SpreadBy spread = SpreadBy::kAuto;
    uint32_t mbufs = 0;  // of each port's pool; 0: enough for its queues
  };

  // Sets the ports up, stopped.
  static Result<PortSet> Open(const Options& options);

  std::vector<std::string> Names() const;

  // Loops whose queues go round the lcores. `processor.taps` has the ports' names from `first_tap`
  // on. What may be sighted is shared out among the lcores, unless `processor` has a rate that is
  // shared already.
  Status MakeLoops(const FrameProcessor::Options& processor, TapId first_tap);

  Status Start();
  // Of started ports: an error where kRss was asked for and the NICs cannot.
  Status CheckSpread() const;

  const Ports& ports() const { return ports_; }
  const Loops& loops() const { return loops_; }

 private:
  explicit PortSet(Options options) : options_(std::move(options)) {}
  bool BySoftware() const;

  Options options_;
  Ports ports_;
  Loops loops_;  // gone before their ports
};

// What it counted by now; the caller knows how many mbufs were in use at most.
PortFindings FindingsOf(const Port& port, uint32_t mbufs_peak);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// The files of a run directory that a real fabric would have given: captures, counters, logs.
#pragma once

#include <memory>
#include <string>

#include "sim/emit/collector_port.h"
#include "sim/emit/counter_log.h"
#include "sim/emit/fan_out.h"
#include "sim/emit/int_postcards.h"
#include "sim/emit/mirror.h"
#include "sim/emit/packet.h"
#include "sim/emit/pcap_file.h"
#include "sim/emit/sflow_agents.h"
#include "sim/run/simulation.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

class Telemetry {
 public:
  // Scenario and network must outlive it. Without a directory and a stream there is none to make.
  static Result<std::unique_ptr<Telemetry>> Make(const Scenario& scenario, Network& network,
                                                 const Simulation::Output& output);

  // The run begins.
  void Start();
  // Writes the rest.
  Status Finish();
  CounterLog* counters() { return counters_.get(); }  // nullptr: none are written

  // By which mirrored frames come to the box; nullptr: none do.
  const CollectorPort* mirror_port() const {
    return output_.stream ? stream_.port.get() : mirror_capture_.port.get();
  }

 private:
  // A file of what one kind of telemetry sends to the box, or the stream of all of it.
  struct Capture {
    std::unique_ptr<PcapFile> file;
    std::unique_ptr<CollectorPort> port;
  };

  Telemetry(const Scenario& scenario, Network& network, const Simulation::Output& output)
      : scenario_(scenario), network_(network), output_(output), packets_(network) {}
  void Begin(Capture& capture, std::unique_ptr<PcapFile> file);
  // Where to send what would be in this file of the directory.
  Result<CollectorPort*> PortOf(Capture& capture, const char* name);
  Status OpenFrames();
  Status OpenCounters();

  const Scenario& scenario_;
  Network& network_;
  const Simulation::Output output_;
  PacketWriter packets_;
  FanOut observers_;
  Capture stream_;
  Capture mirror_capture_;
  Capture int_capture_;
  Capture sflow_capture_;
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<IntPostcards> postcards_;
  std::unique_ptr<SflowAgents> sflow_;
  std::unique_ptr<TextFile> counter_file_;
  std::unique_ptr<CounterLog> counters_;
};

}  // namespace rocescope::sim

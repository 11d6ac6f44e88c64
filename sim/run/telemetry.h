// SPDX-License-Identifier: BSD-3-Clause
// Writes the telemetry files of a run directory: captures, counters and logs.
#pragma once

#include <memory>
#include <string>

#include "dataplane/run/counter_columns.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/counter_lines_file.h"
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
  // The scenario and the network must outlive this object. Writes nothing if there is no output:
  // no directory, no stream and no file of counters.
  static Result<std::unique_ptr<Telemetry>> Make(const Scenario& scenario, Network& network,
                                                 const Simulation::Output& output);

  // Called at the start of the run.
  void Start();
  // Writes the remaining data.
  Status Finish();
  CounterLog* counters() { return counters_.get(); }    // nullptr: no counters are written
  CounterLog* recording() { return recording_.get(); }  // nullptr: nothing is recorded

  // The port on which mirrored frames arrive; nullptr: there are none.
  const CollectorPort* mirror_port() const {
    return output_.stream ? stream_.port.get() : mirror_capture_.port.get();
  }

 private:
  // The capture file of one kind of telemetry, or the stream of all kinds.
  struct Capture {
    std::unique_ptr<PcapFile> file;
    std::unique_ptr<CollectorPort> port;
  };

  Telemetry(const Scenario& scenario, Network& network, const Simulation::Output& output)
      : scenario_(scenario),
        network_(network),
        output_(output),
        packets_(network),
        watermarks_(network) {}
  void Begin(Capture& capture, std::unique_ptr<PcapFile> file);
  // Returns the destination for the frames of this file.
  Result<CollectorPort*> PortOf(Capture& capture, const char* name);
  Status OpenFrames();
  Status OpenCounters();
  Status OpenRecording();

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
  Watermarks watermarks_;
  std::unique_ptr<CounterLinesFile> counter_file_;
  std::unique_ptr<CounterLog> counters_;
  std::unique_ptr<CounterColumnsWriter> recording_file_;
  std::unique_ptr<CounterLog> recording_;
};

}  // namespace rocescope::sim

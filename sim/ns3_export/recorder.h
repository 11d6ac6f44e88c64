// SPDX-License-Identifier: BSD-3-Clause
// Writes the telemetry of the ports: mirror.pcap, sflow.pcap and counters.jsonl.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "dataplane/run/counter_lines_writer.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/erspan.h"
#include "sim/emit/pcap_file.h"
#include "sim/emit/sflow_exporter.h"
#include "sim/engine/random.h"
#include "sim/ns3_export/exporter.h"
#include "sim/ns3_export/port_monitor.h"

namespace rocescope::ns3_export {

// Returns the simulated time in the unit of sim/emit.
sim::SimTime Now();

// Whether both ends of the link of a port are up; indexed by PortIndex.
using LinkStates = std::vector<bool>;

class Recorder {
 public:
  // Opens the files in the directory of the options. The fabric and the options must outlive this
  // object.
  static Result<std::unique_ptr<Recorder>> Make(const topology::Fabric& fabric,
                                                const Options& options);

  void Sends(const PortMonitor& port, const ns3::Packet& packet);
  void Receives(const PortMonitor& port, const ns3::Packet& packet);

  void ReadCounters(std::span<const std::unique_ptr<PortMonitor>> ports, const LinkStates& up);
  Status Finish();

  const Counts& counts() const { return counts_; }

 private:
  struct Capture {
    std::unique_ptr<sim::PcapFile> file;
    std::unique_ptr<sim::CollectorPort> port;
  };
  // A packet that was sampled at its ingress port and has not left the switch yet.
  struct Chosen {
    sim::SflowExporter::PacketSample sample;
    std::vector<uint8_t> header;
    topology::NodeIndex node = 0;
  };
  struct Source {  // sampling state of a port
    sim::Random random{0};
    uint64_t skip = 0;  // packets until the next sample
    uint32_t pool = 0;
    uint32_t sequence = 0;
    uint32_t counter_sequence = 0;
  };
  struct Numbers {  // in counters.jsonl
    std::optional<uint32_t> port;
    std::optional<uint32_t> queue;
  };

  Recorder(const topology::Fabric& fabric, const Options& options);
  Status Open(Capture& capture, const char* name);
  void Copy(const PortMonitor& port, const ns3::Packet& packet, bool egress);
  void Choose(const PortMonitor& port, const ns3::Packet& packet);
  void ReadPort(PortMonitor& port, bool up);
  void Put(const CounterEntity& entity, std::optional<uint32_t>& number,
           std::span<const std::pair<Metric, uint64_t>> reading);
  uint64_t Skip(Source& source) const {
    return 1 + source.random.Below(2 * uint64_t{options_.sflow_rate} - 1);
  }
  const topology::Node& NodeOf(const PortMonitor& port) const {
    return fabric_.node(fabric_.port(port.index()).node);
  }

  const topology::Fabric& fabric_;
  const Options& options_;
  Capture mirror_;
  Capture sflow_;
  std::unique_ptr<CounterLinesWriter> counters_;
  // Indexed by NodeIndex; those of hosts are unused.
  std::vector<std::optional<sim::ErspanSession>> sessions_;
  std::vector<std::optional<sim::SflowExporter>> agents_;
  std::vector<Source> sources_;                  // indexed by PortIndex
  std::vector<Numbers> numbers_;                 // indexed by PortIndex
  std::unordered_map<uint64_t, Chosen> chosen_;  // by uid
  Counts counts_;
};

}  // namespace rocescope::ns3_export

// SPDX-License-Identifier: BSD-3-Clause
// Records the telemetry of an ns-3 program that is built from stock models, as a run directory for
// `rocescope replay` and `rocescope score`: mirrored packets, sFlow, counters, topology and ground
// truth. README.md has an example. Programs that link this library also link ns-3, which is
// GPL-2.0.
//
// Order of the calls: AddSwitch and AddHost for each node; build channels, addresses and queue
// discs; AddConnection if known; Attach; Simulator::Run; Finish. The exporter has periodic events,
// so the program must call Simulator::Stop. Errors are thrown as std::runtime_error and say what to
// change.
#pragma once

#include <ns3/ipv4-address.h>
#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/nstime.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <memory>
#include <string>

namespace rocescope::ns3_export {

// Tiers of switches, from the hosts upwards.
enum class Tier : uint8_t { kLeaf, kSpine, kCore };

// Which switches copy the frames of all their ports to the collector.
enum class Mirror : uint8_t { kNone, kLeaves, kAllSwitches };

struct Options {
  std::string directory;         // created if it does not exist; an earlier run in it is removed
  std::string scenario = "ns3";  // name of the run
  uint64_t seed = 1;             // for sFlow sampling; also recorded in run.json
  // Wall-clock time of simulated time 0, in nanoseconds since the Unix epoch.
  int64_t epoch_ns = 1'750'000'000'000'000'000;

  Mirror mirror = Mirror::kAllSwitches;
  bool mirror_egress = false;  // also copy the frames that a port sends, after its queue
  uint32_t snap_length = 192;  // bytes kept of a mirrored frame; 0 keeps all
  uint32_t sflow_rate = 256;   // one in this many frames of a switch port is sampled; 0: no sFlow
  ns3::Time counter_period = ns3::MilliSeconds(1);  // of counters.jsonl and sFlow; 0: no counters
  // How often the state of interfaces and the depth of queues are checked. Times of link events in
  // the truth have this resolution.
  ns3::Time poll_period = ns3::MicroSeconds(10);

  ns3::Time record_interval = ns3::MilliSeconds(1);  // interval of flow records in the analysis
  ns3::Time analysis_window = ns3::MilliSeconds(1);  // a multiple of record_interval
  // Factor by which timers and polling periods of the program are shorter than in production.
  double time_scale = 0.01;
  // Priority under which the counters of queues are reported. Stock devices have one queue.
  uint8_t priority = 3;
};

// One end of a RoCE connection.
struct QueuePair {
  ns3::Ipv4Address address;
  uint32_t qpn = 0;
  uint16_t udp_source_port = 0;
};

struct Counts {
  uint64_t mirrored = 0;     // frames in mirror.pcap
  uint64_t samples = 0;      // packet samples in sflow.pcap
  uint64_t readings = 0;     // lines of counters.jsonl
  uint64_t link_events = 0;  // links that went down
};

class Exporter {
 public:
  explicit Exporter(Options options);
  ~Exporter();  // without Finish, the run directory remains incomplete
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // A switch is a router, or a node with a BridgeNetDevice. Names must be unique.
  void AddSwitch(ns3::Ptr<ns3::Node> node, const std::string& name, Tier tier);
  void AddHost(ns3::Ptr<ns3::Node> node, const std::string& name);

  // Adds a RoCE connection to the ground truth, because its pair of queue pairs cannot be derived
  // from packets. `first` sends data. All connections with the same `job` belong to one
  // job, whose ranks are the hosts; empty: background traffic.
  void AddConnection(const QueuePair& first, const QueuePair& second, const std::string& job = {});

  // Derives the fabric from the channels between the added nodes and connects to the trace sources.
  // Supports PointToPointNetDevice, and CsmaNetDevice on channels with two devices. Devices that
  // lead to other nodes are not part of the fabric. Call it after addresses and queue discs are
  // assigned.
  void Attach();

  // Completes all files and disconnects from the trace sources. The run ends at the current
  // simulated time.
  Counts Finish();

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

}  // namespace rocescope::ns3_export

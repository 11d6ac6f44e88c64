// SPDX-License-Identifier: BSD-3-Clause
// sFlow version 5: the agent of each switch samples one in N packets at every ingress port and
// reads the interface counters periodically.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/emit/collector_port.h"
#include "sim/emit/packet.h"
#include "sim/emit/sflow_exporter.h"
#include "sim/engine/random.h"
#include "sim/net/switch.h"

namespace rocescope::sim {

struct SflowOptions {
  uint32_t rate = 4096;  // sampling rate: one in this many packets of a port on average; at least 1
  uint32_t header_bytes = 128;            // bytes of a sampled packet, at most 512
  SimTime counter_period = 20 * kSecond;  // 0: no counter samples
  SimTime longest_wait = kSecond;         // maximum delay of a sample in an unfinished datagram
  // Maximum number of dropped packets that an agent reports in each span of longest_wait; further
  // ones are only counted. Silent drops are never reported.
  uint32_t most_discards = 100;
  uint16_t udp_port = kSflowPort;
  uint64_t seed = 1;
};

// A packet is sampled when it is queued, so that its output port is known even if it is dropped
// there. A packet dropped earlier has no such sample but may be reported as a discarded packet. The
// sampled header is that of the packet as it arrived. The counters are those of RFC 2863 and RFC
// 3635; their byte counts include the FCS. Switches without an sFlow agent address send nothing.
class SflowAgents final : public SwitchObserver {
 public:
  SflowAgents(Network& network, PacketWriter& packets, CollectorPort& port,
              const SflowOptions& options);
  SflowAgents(const SflowAgents&) = delete;  // events refer to it
  SflowAgents& operator=(const SflowAgents&) = delete;

  // Reads the counters periodically from now on; the agents are spread over the first period. The
  // engine never becomes idle then: run it until a given time.
  void Start();
  // Sends unfinished datagrams.
  void Finish();

  void Arrives(const Switch&, const Port&, const Frame&) override {}
  void Queues(const Switch& at, const Port& port, const Frame& frame) override;
  void Departs(const Switch&, const Port&, const Frame&, uint64_t) override {}
  void Loses(const Switch& at, const Port* out, const Frame& frame, LossCause cause) override;

  // Counts packet samples and dropped-packet samples, including those in lost datagrams.
  uint64_t samples() const { return samples_; }
  uint64_t discards() const { return discards_; }

 private:
  static constexpr size_t kMaxHeader = 512;

  struct Source {  // one per port
    Random random{0};
    uint64_t skip = 0;  // packets until the next sample
    uint32_t pool = 0;
    uint32_t flow_sequence = 0;
    uint32_t counter_sequence = 0;
    uint32_t discard_sequence = 0;
  };
  struct Agent {
    topology::NodeIndex node = topology::kNone;  // kNone: the switch has no agent address
    topology::PortIndex first_port = 0;
    std::optional<SflowExporter> exporter;
    uint32_t waits_for = 0;  // the latest datagram that will be sent after the longest wait
    std::vector<Source> sources;
    SimTime discards_until = 0;  // end of the current span
    uint32_t discards = 0;       // reported in the current span
    uint32_t discards_missed = 0;
  };

  void Sample(Agent& agent, const Port& port, const Frame& frame);
  std::span<const uint8_t> HeaderOf(const Frame& frame, bool counted_down);
  void ReadCounters(Agent& agent);
  void CountersAndAgain(uint32_t number);
  uint32_t NumberOf(const Agent& agent, uint32_t port) const;
  void SendLater(Agent& agent);
  uint64_t Skip(Source& source) const {
    return 1 + source.random.Below(2 * uint64_t{options_.rate} - 1);
  }

  Network& network_;
  PacketWriter& packets_;
  CollectorPort& port_;
  const SflowOptions options_;
  std::vector<Agent> agents_;  // indexed by switch number
  std::array<uint8_t, kMaxHeader> header_room_{};
  uint64_t samples_ = 0;
  uint64_t discards_ = 0;
};

}  // namespace rocescope::sim

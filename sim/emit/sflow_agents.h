// SPDX-License-Identifier: BSD-3-Clause
// sFlow version 5: each switch's agent samples one in N packets at every ingress port and reads its
// interface counters once a period.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/wire/sflow_writer.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/envelope.h"
#include "sim/emit/packet.h"
#include "sim/engine/random.h"
#include "sim/net/switch.h"

namespace rocescope::sim {

struct SflowOptions {
  uint32_t rate = 4096;          // one of so many packets of a port, on average; at least 1
  uint32_t header_bytes = 128;  // of a sampled packet, at most 512
  SimTime counter_period = 20 * kSecond;  // 0: no counter samples
  SimTime longest_wait = kSecond;         // of a sample in an unfinished datagram
  // Of dropped packets an agent tells so many in each span of longest_wait, and of the others their
  // number. What a switch loses without knowing is not among them.
  uint32_t most_discards = 100;
  uint16_t udp_port = 6343;
  uint64_t seed = 1;
};

// A packet is sampled when it is queued, so that its output port is known, dropped or not; what is
// dropped before has no such sample, but may be told as a discarded packet. The sampled header is
// that of the packet as it came. Counters are those of RFC 2863 and 3635, whose octets include the
// frame check sequence. Switches without an sFlow agent's address have none.
class SflowAgents final : public SwitchObserver {
 public:
  SflowAgents(Network& network, PacketWriter& packets, CollectorPort& port,
              const SflowOptions& options);
  SflowAgents(const SflowAgents&) = delete;  // events know it
  SflowAgents& operator=(const SflowAgents&) = delete;

  // Reads counters each period from now on, the agents one behind the other within the first. The
  // engine is never idle then: run it to a time.
  void Start();
  // Sends what waits in datagrams.
  void Finish();

  void Arrives(const Switch&, const Port&, const Frame&) override {}
  void Queues(const Switch& at, const Port& port, const Frame& frame) override;
  void Departs(const Switch&, const Port&, const Frame&, uint64_t) override {}
  void Loses(const Switch& at, const Port* out, const Frame& frame, LossCause cause) override;

  // In datagrams that got lost too: of packets; of dropped ones.
  uint64_t samples() const { return samples_; }
  uint64_t discards() const { return discards_; }

 private:
  static constexpr size_t kMaxDatagram = 1400;  // octets behind the UDP header
  static constexpr size_t kMaxHeader = 512;

  struct Source {  // a port
    Random random{0};
    uint64_t skip = 0;  // packets until the next sample
    uint32_t pool = 0;
    uint32_t flow_sequence = 0;
    uint32_t counter_sequence = 0;
    uint32_t discard_sequence = 0;
  };
  struct Agent {
    topology::NodeIndex node = topology::kNone;  // kNone: it has no address
    topology::PortIndex first_port = 0;
    IpAddress address;
    Envelope envelope;
    uint32_t sequence = 0;
    std::vector<Source> sources;
    SimTime discards_until = 0;  // the span under way
    uint32_t discards = 0;       // in it
    uint32_t discards_missed = 0;
    std::vector<uint8_t> room;
    std::optional<wire::SflowWriter> datagram;  // in `room`
  };

  void Sample(Agent& agent, const Port& port, const Frame& frame);
  std::span<const uint8_t> HeaderOf(const Frame& frame, bool counted_down);
  void ReadCounters(Agent& agent);
  void CountersAndAgain(uint32_t number);
  wire::SflowWriter& DatagramFor(Agent& agent, size_t bytes);
  void Send(Agent& agent);
  uint64_t Skip(Source& source) const {
    return 1 + source.random.Below(2 * uint64_t{options_.rate} - 1);
  }

  Network& network_;
  PacketWriter& packets_;
  CollectorPort& port_;
  const SflowOptions options_;
  std::vector<Agent> agents_;  // by switch number
  std::array<uint8_t, kMaxHeader> header_room_{};
  uint64_t samples_ = 0;
  uint64_t discards_ = 0;
};

}  // namespace rocescope::sim

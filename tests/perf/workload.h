// SPDX-License-Identifier: BSD-3-Clause
// Traffic of a training cluster, packet by packet: reliable connections between hosts, whose share
// of the packets follows Zipf's law. Each connection has one pattern (WRITEs, WRITEs after NCCL's
// clear-to-send, SENDs, READs).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/perf/packet.h"
#include "tests/perf/random.h"

namespace rocescope::perf {

enum class TrafficMix : uint8_t {
  kMixed,  // all patterns, MTU 1024 and 4096, many short messages
  kNccl,   // clear-to-send and WRITEs of 512 KiB to 4 MiB with MTU 4096
};

struct WorkloadOptions {
  TrafficMix mix = TrafficMix::kMixed;
  uint64_t packets = 3'000'000;
  uint32_t queue_pairs = 10'000;  // two per connection
  uint32_t hosts = 256;
  double zipf_exponent = 1.0;
  double ce_ratio = 0.05;   // ratio of data packets
  double cnp_ratio = 0.01;  // of all packets, as long as there are CE marks to respond to
  // Probability per data packet that a run of 1 to 4 PSNs is not captured.
  double gap_ratio = 0.001;
  double ipv6_ratio = 0;  // share of connections
  uint64_t seed = 1;
  int64_t start_ns = 1'700'000'000'000'000'000;
  int64_t duration_ns = 1'000'000'000;
};

class Workload {
 public:
  explicit Workload(const WorkloadOptions& options);

  // The next packet in time. Its pointers stay valid during the workload's lifetime.
  Packet Next();

  // The endpoints of flow `flow`: sender, receiver.
  const Endpoint& Sender(uint32_t flow) const { return EndOf(flow).endpoint; }
  const Endpoint& Receiver(uint32_t flow) const { return EndOf(flow ^ 1).endpoint; }
  uint32_t flow_count() const { return static_cast<uint32_t>(connections_.size() * 2); }

 private:
  enum class Habit : uint8_t { kWrite, kGrantedWrite, kSend, kRead };

  // PSNs that were sent but not captured, until a later packet of the same PSN space shows the gap.
  struct PsnSpace {
    bool seen = false;
    uint32_t run_left = 0;
    uint32_t skipped = 0;
  };

  // A message, or a READ response, in progress.
  struct Message {
    uint32_t length = 0;  // bytes of the message; 0: none in progress
    uint32_t sent = 0;
    uint32_t psn = 0;       // PSN of the next packet
    uint8_t operation = 0;  // opcode of its FIRST packet
    bool with_immediate = false;
    uint64_t address = 0;
    uint32_t rkey = 0;
  };

  struct End {
    Endpoint endpoint;
    // Requester state.
    uint32_t next_psn = 0;
    Message request;
    uint32_t since_ack_request = 0;
    PsnSpace request_space;
    // Responder state.
    uint32_t message_sequence = 0;  // MSN: messages completed here
    bool ack_due = false;
    uint32_t ack_psn = 0;
    Message response;
    PsnSpace response_space;
    bool marked = false;  // a CE mark arrived: a CNP may follow
  };

  struct Connection {
    std::array<End, 2> ends;
    Habit habit = Habit::kWrite;
    bool both_ways = false;
    uint8_t turn = 0;  // the end that sends the next message
    uint32_t mtu = 4096;
    uint64_t granted_address = 0;  // from the last clear-to-send
    uint32_t granted_rkey = 0;
  };

  const End& EndOf(uint32_t flow) const { return connections_[flow / 2].ends[flow & 1]; }
  void MakeConnections();
  bool Step(uint32_t connection_index, Packet& packet);
  void StartMessage(Connection& connection, uint8_t side);
  uint32_t DrawLength(uint32_t mtu, uint32_t most_packets);
  uint32_t DrawGrantedLength(uint32_t mtu);
  bool SendRequest(Connection& connection, uint8_t side, Packet& packet);
  bool SendResponse(Connection& connection, uint8_t side, Packet& packet);
  void SendAck(End& from, const End& to, Packet& packet);
  void SendCnp(End& from, const End& to, Packet& packet);
  bool Skip(PsnSpace& space);

  WorkloadOptions options_;
  Random random_;
  Zipf popularity_;
  std::vector<Connection> connections_;
  int64_t time_ns_;
  uint32_t most_step_ns_;
  uint64_t cnps_owed_ = 0;  // until a connection with a mark is selected
};

}  // namespace rocescope::perf

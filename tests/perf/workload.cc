// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/workload.h"

#include <algorithm>

#include "dataplane/wire/opcode.h"

namespace rocescope::perf {
namespace {

constexpr uint16_t kDefaultPartition = 0xffff;
constexpr uint8_t kAckWithoutCredits = 0x1f;
constexpr uint32_t kClearToSendLength = 64;
constexpr uint32_t kAckEvery = 16;  // packets of a long message
constexpr uint32_t kHostsPerLeaf = 16;
constexpr uint32_t kConnectionsPerPair = 4;  // as NCCL's channels
constexpr uint32_t kFirstQpn = 0x48;  // QPNs of each host start here, so they repeat between hosts

uint8_t OpcodeOf(uint8_t operation, bool first, bool last, bool immediate) {
  if (operation == wire::kOpcodeWriteFirst) {
    if (first && last) return immediate ? wire::kOpcodeWriteOnlyImmediate : wire::kOpcodeWriteOnly;
    if (last) return immediate ? wire::kOpcodeWriteLastImmediate : wire::kOpcodeWriteLast;
    return first ? wire::kOpcodeWriteFirst : wire::kOpcodeWriteMiddle;
  }
  if (operation == wire::kOpcodeReadResponseFirst) {
    if (first && last) return wire::kOpcodeReadResponseOnly;
    if (last) return wire::kOpcodeReadResponseLast;
    return first ? wire::kOpcodeReadResponseFirst : wire::kOpcodeReadResponseMiddle;
  }
  if (first && last) return wire::kOpcodeSendOnly;
  if (last) return wire::kOpcodeSendLast;
  return first ? wire::kOpcodeSendFirst : wire::kOpcodeSendMiddle;
}

IpAddress HostAddress(uint32_t host, bool ipv6) {
  if (ipv6) return {.high = 0xfd00'0000'0000'0000ull | host / kHostsPerLeaf, .low = host + 1};
  return IpAddress::FromV4(0x0a00'0000u | (host / kHostsPerLeaf) << 8 | (host % kHostsPerLeaf + 1));
}

uint32_t PacketsIn(uint32_t length, uint32_t mtu) { return std::max(1u, (length + mtu - 1) / mtu); }

uint8_t PadOf(uint32_t length) { return static_cast<uint8_t>(-length & 3); }

}  // namespace

Workload::Workload(const WorkloadOptions& options)
    : options_(options),
      random_(options.seed),
      popularity_(options.queue_pairs / 2, options.zipf_exponent),
      time_ns_(options.start_ns) {
  const int64_t mean = options.duration_ns / static_cast<int64_t>(options.packets);
  most_step_ns_ = static_cast<uint32_t>(std::clamp<int64_t>(2 * mean - 1, 1, 0x7fff'ffff));
  MakeConnections();
}

void Workload::MakeConnections() {
  connections_.resize(options_.queue_pairs / 2);
  std::vector<uint32_t> next_qpn(options_.hosts, kFirstQpn);
  std::array<uint32_t, 2> hosts{};
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (i % kConnectionsPerPair == 0) {
      hosts[0] = random_.Below(options_.hosts);
      hosts[1] = (hosts[0] + 1 + random_.Below(options_.hosts - 1)) % options_.hosts;
    }
    Connection& connection = connections_[i];
    const uint32_t dice = random_.Below(100);
    const bool nccl = options_.mix == TrafficMix::kNccl;
    connection.habit = nccl || dice < 40 ? Habit::kGrantedWrite
                       : dice < 75       ? Habit::kWrite
                       : dice < 90       ? Habit::kSend
                                         : Habit::kRead;
    connection.both_ways = connection.habit != Habit::kGrantedWrite && random_.Chance(0.3);
    connection.turn = connection.habit == Habit::kGrantedWrite ? 1 : 0;
    connection.mtu = random_.Chance(0.5) || nccl ? 4096 : 1024;
    const bool ipv6 = random_.Chance(options_.ipv6_ratio);
    const bool one_leaf = hosts[0] / kHostsPerLeaf == hosts[1] / kHostsPerLeaf;
    for (int side = 0; side < 2; ++side) {
      End& end = connection.ends[side];
      end.endpoint = {.address = HostAddress(hosts[side], ipv6),
                      .mac = 0x0200'0000'0000ull | hosts[side],
                      .qpn = Qpn{next_qpn[hosts[side]]++},
                      .udp_source_port = static_cast<uint16_t>(0xc000 | random_.Below(0x4000)),
                      .ttl = static_cast<uint8_t>(one_leaf ? 64 : 63)};
      // NCCL starts its queue pairs at PSN 0; other connections start anywhere.
      end.next_psn = connection.habit == Habit::kGrantedWrite ? 0 : random_.Below(k24BitMask + 1);
    }
  }
}

Packet Workload::Next() {
  Packet packet;
  uint32_t index = 0;
  do {
    index = static_cast<uint32_t>(popularity_.Draw(random_));
    packet = Packet{};
  } while (!Step(index, packet));
  time_ns_ += 1 + random_.Below(most_step_ns_);
  packet.time_ns = time_ns_;
  Connection& connection = connections_[index];
  const uint32_t side = packet.from == &connection.ends[0].endpoint ? 0 : 1;
  packet.flow = index * 2 + side;
  packet.bth.partition_key = kDefaultPartition;
  packet.bth.destination_qpn = packet.to->qpn;
  return packet;
}

// Advances one connection by one packet. Returns false if that packet is not captured.
bool Workload::Step(uint32_t connection_index, Packet& packet) {
  Connection& connection = connections_[connection_index];
  auto& ends = connection.ends;
  const auto either = static_cast<uint8_t>(random_.Below(2));
  if (random_.Chance(options_.cnp_ratio)) ++cnps_owed_;
  if (cnps_owed_ > 0) {
    for (const uint8_t side : {either, static_cast<uint8_t>(1 - either)}) {
      if (!ends[side].marked) continue;
      --cnps_owed_;
      SendCnp(ends[side], ends[1 - side], packet);
      return true;
    }
  }
  for (const uint8_t side : {either, static_cast<uint8_t>(1 - either)}) {
    if (ends[side].response.length != 0) return SendResponse(connection, side, packet);
    if (ends[side].ack_due && random_.Chance(0.6)) {
      SendAck(ends[side], ends[1 - side], packet);
      return true;
    }
  }
  for (const uint8_t side : {either, static_cast<uint8_t>(1 - either)}) {
    if (ends[side].request.length != 0) return SendRequest(connection, side, packet);
  }
  const uint8_t side = connection.both_ways ? either : connection.turn;
  StartMessage(connection, side);
  return SendRequest(connection, side, packet);
}

void Workload::StartMessage(Connection& connection, uint8_t side) {
  End& end = connection.ends[side];
  Message message = {.psn = end.next_psn,
                     .address = 0x7f00'0000'0000ull | uint64_t{random_.Below(1u << 20)} << 12,
                     .rkey = random_.Below(1u << 24) | 1};
  switch (connection.habit) {
    case Habit::kSend:
      message.operation = wire::kOpcodeSendFirst;
      message.length = DrawLength(connection.mtu, 16);
      break;
    case Habit::kRead:
      message.operation = wire::kOpcodeReadRequest;
      message.length = DrawLength(connection.mtu, 64);
      break;
    case Habit::kWrite:
      message.operation = wire::kOpcodeWriteFirst;
      message.length = DrawLength(connection.mtu, 128);
      break;
    case Habit::kGrantedWrite:
      // End 1 grants a buffer with a small WRITE, then end 0 fills it.
      message.operation = wire::kOpcodeWriteFirst;
      if (side == 1) {
        message.length = kClearToSendLength;
        connection.granted_address = message.address ^ 0x10'0000'0000ull;
        connection.granted_rkey = message.rkey + 1;
      } else {
        message.length = DrawGrantedLength(connection.mtu);
        message.with_immediate = true;
        message.address = connection.granted_address;
        message.rkey = connection.granted_rkey;
      }
      connection.turn = 1 - side;
      break;
  }
  end.request = message;
}

// A third of the messages have one packet. The others have 2 to `most_packets`, with a bias to
// small counts.
uint32_t Workload::DrawLength(uint32_t mtu, uint32_t most_packets) {
  if (random_.Below(3) == 0) return 1 + random_.Below(mtu);
  uint32_t limit = 2;
  while (limit < most_packets && random_.Chance(0.75)) limit *= 2;
  const uint32_t packets = limit / 2 + 1 + random_.Below(limit - limit / 2);
  // Tensors mostly have a multiple of the page size; some messages end within a packet.
  const uint32_t tail = random_.Chance(0.7) ? mtu : 1 + random_.Below(mtu);
  return (packets - 1) * mtu + tail;
}

// NCCL's buffers are powers of two.
uint32_t Workload::DrawGrantedLength(uint32_t mtu) {
  if (options_.mix == TrafficMix::kMixed) return DrawLength(mtu, 128);
  return (512u << 10) << random_.Below(4);
}

bool Workload::SendRequest(Connection& connection, uint8_t side, Packet& packet) {
  End& from = connection.ends[side];
  End& to = connection.ends[1 - side];
  Message& message = from.request;
  packet.from = &from.endpoint;
  packet.to = &to.endpoint;
  packet.reth = {
      .virtual_address = message.address, .rkey = message.rkey, .dma_length = message.length};
  packet.bth.psn = message.psn;

  if (message.operation == wire::kOpcodeReadRequest) {
    packet.bth.opcode = wire::kOpcodeReadRequest;
    packet.bth.ack_request = true;
    packet.skipped_before = from.request_space.skipped;
    from.request_space.skipped = 0;
    from.request_space.seen = true;
    // The response uses as many PSNs as it has packets, and acknowledges earlier requests.
    to.response = message;
    to.response.operation = wire::kOpcodeReadResponseFirst;
    to.ack_due = false;
    from.next_psn = (message.psn + PacketsIn(message.length, connection.mtu)) & k24BitMask;
    from.request = {};
    return true;
  }

  const bool first = message.sent == 0;
  packet.payload_length = std::min(connection.mtu, message.length - message.sent);
  message.sent += packet.payload_length;
  const bool last = message.sent == message.length;
  packet.bth.opcode = OpcodeOf(message.operation, first, last, message.with_immediate);
  packet.bth.pad_count = PadOf(packet.payload_length);
  packet.bth.solicited_event = last && message.with_immediate;
  packet.bth.ack_request = last || ++from.since_ack_request >= kAckEvery;
  packet.immediate.data = message.length;
  if (connection.habit == Habit::kGrantedWrite && side == 1) {
    packet.granted_address = connection.granted_address;
    packet.granted_rkey = connection.granted_rkey;
  }
  if (packet.bth.ack_request) {
    from.since_ack_request = 0;
    to.ack_due = true;
  }
  to.ack_psn = message.psn;
  if (last) to.message_sequence = (to.message_sequence + 1) & k24BitMask;
  message.psn = (message.psn + 1) & k24BitMask;
  from.next_psn = message.psn;
  if (last) message = {};

  if (Skip(from.request_space)) return false;
  packet.skipped_before = from.request_space.skipped;
  from.request_space.skipped = 0;
  packet.congestion_experienced = random_.Chance(options_.ce_ratio);
  to.marked |= packet.congestion_experienced;
  return true;
}

bool Workload::SendResponse(Connection& connection, uint8_t side, Packet& packet) {
  End& from = connection.ends[side];
  End& to = connection.ends[1 - side];
  Message& message = from.response;
  packet.from = &from.endpoint;
  packet.to = &to.endpoint;
  const bool first = message.sent == 0;
  if (first) from.message_sequence = (from.message_sequence + 1) & k24BitMask;
  packet.payload_length = std::min(connection.mtu, message.length - message.sent);
  message.sent += packet.payload_length;
  const bool last = message.sent == message.length;
  packet.bth.opcode = OpcodeOf(wire::kOpcodeReadResponseFirst, first, last, false);
  packet.bth.pad_count = PadOf(packet.payload_length);
  packet.bth.psn = message.psn;
  packet.aeth = {.syndrome = kAckWithoutCredits, .msn = from.message_sequence};
  message.psn = (message.psn + 1) & k24BitMask;
  if (last) message = {};

  // Only MIDDLE packets are omitted: the first and last packets of a response are captured, so each
  // gap is detectable.
  if (!first && !last && Skip(from.response_space)) return false;
  from.response_space.seen = true;
  packet.skipped_before = from.response_space.skipped;
  from.response_space.skipped = 0;
  packet.congestion_experienced = random_.Chance(options_.ce_ratio);
  to.marked |= packet.congestion_experienced;
  return true;
}

void Workload::SendAck(End& from, const End& to, Packet& packet) {
  packet.from = &from.endpoint;
  packet.to = &to.endpoint;
  packet.bth.opcode = wire::kOpcodeAcknowledge;
  packet.bth.psn = from.ack_psn;
  packet.aeth = {.syndrome = kAckWithoutCredits, .msn = from.message_sequence};
  from.ack_due = false;
}

// IBTA Annex A17.9.3: BECN set, PSN 0, to the sender of the marked packet.
void Workload::SendCnp(End& from, const End& to, Packet& packet) {
  packet.from = &from.endpoint;
  packet.to = &to.endpoint;
  packet.bth.opcode = wire::kOpcodeCnp;
  packet.bth.becn = true;
  from.marked = false;
}

// True if the capture omits the next packet of this PSN space. It never omits the first one,
// because no earlier packet would show the gap.
bool Workload::Skip(PsnSpace& space) {
  if (!space.seen) {
    space.seen = true;
    return false;
  }
  if (space.run_left == 0) {
    if (!random_.Chance(options_.gap_ratio)) return false;
    space.run_left = 1 + random_.Below(4);
  }
  --space.run_left;
  ++space.skipped;
  return true;
}

}  // namespace rocescope::perf

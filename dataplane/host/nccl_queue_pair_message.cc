// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/nccl_message.h"

namespace rocescope {
namespace {

// `(%lX/%lX)` prints the two halves of a GID as little-endian integers, so each half is
// byte-swapped to network order.
IpAddress DecodeGid(uint64_t first, uint64_t second) {
  return {.high = __builtin_bswap64(first), .low = __builtin_bswap64(second)};
}

Qpn ReadQpn(LineScanner& scanner) {
  return Qpn{static_cast<uint32_t>(scanner.Integer(0, k24BitMask))};
}

Qpn ReadHexQpn(LineScanner& scanner) {
  const uint64_t qpn = scanner.Hex();
  scanner.Require(qpn <= k24BitMask, "a queue pair number of 24 bits");
  return Qpn{static_cast<uint32_t>(qpn)};
}

int ReadDevice(LineScanner& scanner) { return static_cast<int>(scanner.Integer(0, kMaxDevices)); }

NcclQueuePair& Add(const NcclQueuePair& queue_pair, NcclProcessReader& reader) {
  reader.queue_pair_of_qpn[queue_pair.local.value] = reader.facts.queue_pairs.size();
  return reader.facts.queue_pairs.emplace_back(queue_pair);
}

NcclQueuePair* FindLatest(Qpn qpn, NcclProcessReader& reader) {
  const auto found = reader.queue_pair_of_qpn.find(qpn.value);
  return found == reader.queue_pair_of_qpn.end() ? nullptr
                                                 : &reader.facts.queue_pairs[found->second];
}

// From 2.29.7 on, `QP created` comes first and the line of the connecting side later.
void AddConnecting(const NcclQueuePair& read, NcclProcessReader& reader) {
  NcclQueuePair* created = FindLatest(read.local, reader);
  const bool same =
      created != nullptr && created->mtu == 0 && !created->device_name.empty() &&
      created->ib_device == read.ib_device &&
      (created->role == NcclQueuePairRole::kSend || created->role == NcclQueuePairRole::kUnknown);
  if (!same) {
    Add(read, reader);
    return;
  }
  const size_t line = created->line;
  std::string device_name = std::move(created->device_name);
  *created = read;
  created->line = line;
  created->device_name = std::move(device_name);
}

// ` GID 3 (0/B9D4E80AFFFF0000)` or ` LID 7`, followed by the FIFO keys in the format of the
// release.
void ReadAddressAndFifo(LineScanner& scanner, NcclQueuePair& queue_pair) {
  if (scanner.Accept(" LID ")) {
    queue_pair.lid = static_cast<int>(scanner.Integer(0, 0xffff));
    if (scanner.Accept(" subnet-prefix ")) scanner.Until(" ");
    if (scanner.Accept("  FLID ")) scanner.Integer(0, 0xffff);
  } else {
    scanner.Literal(" GID ");
    queue_pair.gid_index = static_cast<int>(scanner.Integer(-1, kMaxDevices));
    scanner.Literal(" (");
    const uint64_t first = scanner.Hex();
    scanner.Literal("/");
    const uint64_t second = scanner.Hex();
    scanner.Literal(")");
    if (scanner.ok()) queue_pair.address = DecodeGid(first, second);
  }
  scanner.SkipSpaces();
  if (scanner.at_end()) return;
  const bool is_cts = scanner.Accept("cts");
  scanner.Literal(is_cts ? "FifoRkey=" : "fifoRkey=");
  queue_pair.fifo_rkey = static_cast<uint32_t>(scanner.Hex());
  scanner.Literal(is_cts ? " ctsFifoLkey=" : " fifoLkey=");
  queue_pair.fifo_lkey = static_cast<uint32_t>(scanner.Hex());
}

// `NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 37 mtu 3 ...`, and lines about ECE with the same start.
MessageOutcome ReadConnecting(const NcclLine& frame, size_t line, LineScanner& scanner,
                              NcclProcessReader& reader) {
  NcclQueuePair read{.line = line,
                     .thread_id = frame.thread_id,
                     .cuda_device = frame.cuda_device,
                     .role = NcclQueuePairRole::kSend};
  bool names_ib_device = true;
  if (scanner.Accept("NCCL Dev ") || scanner.Accept("NCCL MergedDev ")) {
    read.merged = frame.message.find("MergedDev") != std::string_view::npos;
    read.net_device = ReadDevice(scanner);
    scanner.Literal(" IbDev ");
    read.ib_device = ReadDevice(scanner);
  } else if (scanner.Accept("IbDev ")) {
    read.ib_device = ReadDevice(scanner);
  } else if (scanner.Accept("Dev ")) {  // up to 2.19: one number for both
    read.net_device = read.ib_device = ReadDevice(scanner);
    names_ib_device = false;
  } else {
    return {};
  }
  // Other messages may start like this; a message that stops here is truncated.
  constexpr std::string_view kPort = " Port ";
  if (scanner.ok() && !scanner.rest().starts_with(kPort) && !kPort.starts_with(scanner.rest())) {
    return {};
  }
  scanner.Literal(kPort);
  read.port = static_cast<int>(scanner.Integer(0, 255));
  if (!scanner.Accept(" qp_num ")) scanner.Literal(" qpn ");
  read.local = ReadQpn(scanner);
  if (!scanner.ok()) return Malformed(scanner);

  const bool is_set_ece = scanner.Accept(" set_ece={");
  if (is_set_ece || scanner.Accept(" query_ece={")) {
    scanner.SkipPast("}");
    if (!scanner.ok()) return Malformed(scanner);
    if (is_set_ece) {
      reader.facts.ece.push_back({.line = line,
                                  .thread_id = frame.thread_id,
                                  .ib_device = read.ib_device,
                                  .port = read.port,
                                  .qpn = read.local,
                                  .is_remote = names_ib_device && reader.ece_names_remote});
    }
    return Read();
  }
  scanner.Literal(" mtu ");
  read.mtu = 128u << scanner.Integer(1, 5);  // enum ibv_mtu: 1 is 256 bytes
  read.ece_inline = scanner.Accept(" query_ece={");
  if (read.ece_inline) scanner.SkipPast("}");
  ReadAddressAndFifo(scanner, read);
  if (!scanner.ok()) return Malformed(scanner);
  reader.ece_names_remote = read.ece_inline;
  AddConnecting(read, reader);
  return Read();
}

NcclQueuePairRole RoleOfFunction(std::string_view function) {
  const auto has = [&](std::string_view part) {
    return function.find(part) != std::string_view::npos;
  };
  if (has("Send") || has("Connect")) return NcclQueuePairRole::kSend;
  if (has("Recv") || has("Receive") || has("Accept")) return NcclQueuePairRole::kReceive;
  return NcclQueuePairRole::kUnknown;
}

// `NET/IB: <function>: QP created: port=1 dev=0 devName=mlx5_0 ndevs=1 nmdevs=1 qp_num=7 ...`
MessageOutcome ReadCreated(const NcclLine& frame, size_t line, NcclQueuePairRole role,
                           LineScanner& scanner, NcclProcessReader& reader) {
  NcclQueuePair read{
      .line = line, .thread_id = frame.thread_id, .cuda_device = frame.cuda_device, .role = role};
  scanner.Literal("port=");
  read.port = static_cast<int>(scanner.Integer(0, 255));
  scanner.Literal(" dev=");
  read.ib_device = ReadDevice(scanner);
  scanner.Literal(" devName=");
  read.device_name = scanner.Until(" ");
  scanner.SkipPast(" qp_num=");
  read.local = ReadQpn(scanner);
  scanner.Literal(" pkey=");
  scanner.Integer(0, 0xffff);
  scanner.Literal(" pd=");
  scanner.Until(" ");
  if (!scanner.ok()) return Malformed(scanner);
  Add(read, reader);
  return Read();
}

// `NET/IB : ncclIbRtrQp qpn=7 mtu=5 dst=9 ...`: printed by both sides in TRACE builds.
MessageOutcome ReadReadyToReceive(const NcclLine& frame, size_t line, LineScanner& scanner,
                                  NcclProcessReader& reader) {
  NcclQueuePair read{.line = line, .thread_id = frame.thread_id, .cuda_device = frame.cuda_device};
  read.local = ReadQpn(scanner);
  scanner.Literal(" mtu=");
  read.mtu = 128u << scanner.Integer(1, 5);
  scanner.Literal(" dst=");
  read.remote = ReadQpn(scanner);
  scanner.Literal(" ll=");
  scanner.Integer(0, 255);
  scanner.Literal(" port=");
  read.port = static_cast<int>(scanner.Integer(0, 255));
  if (!scanner.ok()) return Malformed(scanner);
  NcclQueuePair* known = FindLatest(read.local, reader);
  if (known != nullptr && !known->remote) {
    known->remote = read.remote;
    if (read.remote == read.local) known->role = NcclQueuePairRole::kFlush;
    return Read();
  }
  // The connecting side prints its own line first, so this one accepts, or is a loopback.
  read.role = read.remote == read.local ? NcclQueuePairRole::kFlush : NcclQueuePairRole::kReceive;
  Add(read, reader);
  return Read();
}

// `[0] Connected main QP: qp_idx=1, main_qpn=0x2a, remote_rank=1, remote_qpn=0x2b`
MessageOutcome ReadDeviceMain(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  LineScanner scanner(frame.message);
  NcclQueuePair read{.line = line,
                     .thread_id = frame.thread_id,
                     .cuda_device = frame.cuda_device,
                     .role = NcclQueuePairRole::kDeviceMain};
  scanner.Literal("[");
  read.own_rank = static_cast<int>(scanner.Integer(0, kMaxRanks - 1));
  scanner.Literal("] Connected main QP: ");
  if (!scanner.ok()) return {};
  scanner.Literal("qp_idx=");
  scanner.Integer(0, INT32_MAX);
  scanner.Literal(", main_qpn=");
  read.local = ReadHexQpn(scanner);
  scanner.Literal(", remote_rank=");
  read.remote_rank = static_cast<int>(scanner.Integer(0, kMaxRanks - 1));
  scanner.Literal(", remote_qpn=");
  read.remote = ReadHexQpn(scanner);
  if (!scanner.ok()) return Malformed(scanner);
  Add(read, reader);
  return Read();
}

}  // namespace

MessageOutcome ReadQueuePairMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  if (frame.message.starts_with('[')) return ReadDeviceMain(frame, line, reader);
  LineScanner scanner(frame.message);
  if (scanner.Accept("NET/IB : ncclIbRtrQp qpn=")) {
    return ReadReadyToReceive(frame, line, scanner, reader);
  }
  if (!scanner.Accept("NET/IB: ")) return {};
  // From 2.29.7 on, the name of the printing function comes first.
  const std::string_view first_word = scanner.rest().substr(0, scanner.rest().find(' '));
  std::string_view function;
  if (first_word.ends_with(':')) {
    function = scanner.Until(":");
    scanner.Literal(":");
    scanner.SkipSpaces();
  }
  if (scanner.Accept("Flush QP created: ")) {
    return ReadCreated(frame, line, NcclQueuePairRole::kFlush, scanner, reader);
  }
  if (scanner.Accept("QP created: ")) {
    return ReadCreated(frame, line, RoleOfFunction(function), scanner, reader);
  }
  return ReadConnecting(frame, line, scanner, reader);
}

}  // namespace rocescope

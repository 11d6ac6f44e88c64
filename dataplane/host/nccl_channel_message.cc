// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/nccl_message.h"

namespace rocescope {
namespace {

constexpr std::string_view kSendVia = " [send] via NET/";
constexpr std::string_view kReceiveVia = " [receive] via NET/";

// `0[1a000]`: the brackets contain a bus ID before 2.18, an NVML index since then.
int ReadRank(LineScanner& scanner) {
  const int rank = static_cast<int>(scanner.Integer(0, kMaxRanks - 1));
  scanner.Literal("[");
  scanner.Until("]");
  scanner.Literal("]");
  return rank;
}

bool IsCut(std::string_view rest) {
  return kSendVia.starts_with(rest) || kReceiveVia.starts_with(rest) ||
         std::string_view(" via ").starts_with(rest);
}

MessageOutcome ReadChannel(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  LineScanner scanner(frame.message);
  NcclChannel channel{.line = line, .thread_id = frame.thread_id, .cuda_device = frame.cuda_device};
  scanner.Literal("Channel ");
  channel.channel = static_cast<int>(scanner.Integer(0, kMaxDevices));
  if (scanner.Accept("/")) channel.connection = static_cast<int>(scanner.Integer(0, kMaxDevices));
  scanner.Literal(" : ");
  // Rings are printed as `Channel 00/01 :    0   1   2`.
  const std::string_view rest = scanner.rest();
  const size_t after_digits = rest.find_first_not_of("0123456789");
  if (!scanner.ok() || after_digits == 0 || after_digits == std::string_view::npos ||
      rest[after_digits] != '[') {
    return {};
  }
  channel.source_rank = ReadRank(scanner);
  scanner.Literal(" -> ");
  channel.destination_rank = ReadRank(scanner);
  if (!scanner.ok()) return Malformed(scanner);
  channel.is_send = scanner.Accept(kSendVia);
  if (!channel.is_send && !scanner.Accept(kReceiveVia)) {
    if (IsCut(scanner.rest())) return Malformed("\"[send] via NET/\", \"[receive] via NET/\"");
    return {};  // peer to peer, or shared memory
  }
  channel.net = scanner.Until("/");
  scanner.Literal("/");
  channel.net_device = static_cast<int>(scanner.Integer(0, kMaxDevices));
  if (scanner.rest().size() > 1 && scanner.rest()[0] == '(' && scanner.rest()[1] >= '0' &&
      scanner.rest()[1] <= '9') {
    scanner.Literal("(");
    channel.proxy_rank = static_cast<int>(scanner.Integer(0, kMaxRanks - 1));
    scanner.Literal(")");
  }
  if (!scanner.ok()) return Malformed(scanner);
  channel.gpu_direct = scanner.rest().find("/GDRDMA") != std::string_view::npos;
  channel.shared = scanner.rest().find("/Shared") != std::string_view::npos;
  reader.facts.channels.push_back(std::move(channel));
  return Read();
}

MessageOutcome ReadProxyConnection(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  LineScanner scanner(frame.message);
  NcclProxyConnection connection{.line = line, .cuda_device = frame.cuda_device};
  scanner.Literal("New proxy ");
  connection.is_send = scanner.Accept("send");
  if (!connection.is_send) scanner.Literal("recv");
  scanner.Literal(" connection ");
  scanner.Integer(0, INT32_MAX);
  scanner.Literal(" from local rank ");
  connection.local_rank = static_cast<int>(scanner.Integer(0, kMaxRanks - 1));
  scanner.Literal(", transport ");
  connection.transport = static_cast<int>(scanner.Integer(0, kMaxDevices));
  if (!scanner.ok()) return Malformed(scanner);
  reader.facts.proxy_connections.push_back(connection);
  return Read();
}

}  // namespace

MessageOutcome ReadChannelMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  if (frame.message.starts_with("Channel ")) return ReadChannel(frame, line, reader);
  if (frame.message.starts_with("New proxy ")) return ReadProxyConnection(frame, line, reader);
  return {};
}

}  // namespace rocescope

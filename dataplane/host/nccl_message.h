// SPDX-License-Identifier: BSD-3-Clause
// One function per family of NCCL's messages. Each looks at a message, says whether it is of its
// family, and if so adds what it read to the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "dataplane/host/line_scanner.h"
#include "dataplane/host/nccl_line.h"
#include "dataplane/host/nccl_log.h"

namespace rocescope {

inline constexpr int64_t kMaxRanks = 1 << 24;  // bound what a damaged number can pretend
inline constexpr int64_t kMaxDevices = 1 << 16;

struct MessageOutcome {
  enum Kind : uint8_t { kOther, kRead, kMalformed };
  Kind kind = kOther;
  std::string expected;  // when malformed
};

inline MessageOutcome Read() { return {.kind = MessageOutcome::kRead}; }
inline MessageOutcome Malformed(std::string expected) {
  return {.kind = MessageOutcome::kMalformed, .expected = std::move(expected)};
}
inline MessageOutcome Malformed(const LineScanner& scanner) {
  return Malformed(scanner.expected());
}

// A process while its log is read: the facts, and where later lines find earlier ones.
struct NcclProcessReader {
  NcclProcess facts;
  std::unordered_map<uint64_t, size_t> communicator_of_pointer;  // the latest
  std::unordered_map<uint32_t, size_t> queue_pair_of_qpn;        // the latest
  bool ece_names_remote = false;  // by the form of the latest queue pair line
};

// init.cc: `comm 0x.. rank .. nranks ..` with its endings.
MessageOutcome ReadCommunicatorMessage(const NcclLine& frame, size_t line,
                                       NcclProcessReader& reader);
// net.cc, proxy.cc: channels over the network, connections of the proxy.
MessageOutcome ReadChannelMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib: queue pairs.
MessageOutcome ReadQueuePairMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib, bootstrap.cc, init.cc: devices, the out-of-band address, the version.
MessageOutcome ReadDeviceMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib: failed completions and asynchronous events.
MessageOutcome ReadErrorMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// One parser per family of NCCL messages. Each decides whether a message belongs to its family and,
// if so, adds its content to the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "dataplane/host/line_scanner.h"
#include "dataplane/host/nccl_line.h"
#include "dataplane/host/nccl_log.h"

namespace rocescope {

inline constexpr int64_t kMaxRanks = 1 << 24;  // limits that detect corrupt numbers
inline constexpr int64_t kMaxDevices = 1 << 16;

struct MessageOutcome {
  enum Kind : uint8_t { kOther, kRead, kMalformed };
  Kind kind = kOther;
  std::string expected;  // if malformed
};

inline MessageOutcome Read() { return {.kind = MessageOutcome::kRead}; }
inline MessageOutcome Malformed(std::string expected) {
  return {.kind = MessageOutcome::kMalformed, .expected = std::move(expected)};
}
inline MessageOutcome Malformed(const LineScanner& scanner) {
  return Malformed(scanner.expected());
}

// State of a process while its log is read: its facts, and indices for finding earlier lines.
struct NcclProcessReader {
  NcclProcess facts;
  std::unordered_map<uint64_t, size_t> communicator_of_pointer;  // the latest
  std::unordered_map<uint32_t, size_t> queue_pair_of_qpn;        // the latest
  bool ece_names_remote = false;  // according to the format of the latest queue pair line
};

// init.cc: `comm 0x.. rank .. nranks ..` with its endings.
MessageOutcome ReadCommunicatorMessage(const NcclLine& frame, size_t line,
                                       NcclProcessReader& reader);
// net.cc, proxy.cc: network channels and proxy connections.
MessageOutcome ReadChannelMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib: queue pairs.
MessageOutcome ReadQueuePairMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib, bootstrap.cc, init.cc: devices, out-of-band address, version.
MessageOutcome ReadDeviceMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);
// net_ib: failed completions and asynchronous events.
MessageOutcome ReadErrorMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader);

}  // namespace rocescope

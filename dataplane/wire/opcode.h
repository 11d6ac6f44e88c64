// SPDX-License-Identifier: BSD-3-Clause
// The table of BTH opcodes (IBTA vol. 1, table 38; XRC in Annex A14; CNP in Annex A17.9.3), used by
// the decoder, the flow table and the reports.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rocescope::wire {

// The upper three bits of an opcode.
enum class Transport : uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4, kXrc = 5 };

// The kind of operation that a packet belongs to.
enum class Operation : uint8_t {
  kUnknown,
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAcknowledge,
  kAtomicAcknowledge,
  kAtomic,
  kResync,
  kCnp,
};

// The extended headers after the BTH, in their order on the wire.
enum HeaderBit : uint16_t {
  kHasRdeth = 1 << 0,
  kHasDeth = 1 << 1,
  kHasXrceth = 1 << 2,
  kHasReth = 1 << 3,
  kHasAtomicEth = 1 << 4,
  kHasAeth = 1 << 5,
  kHasAtomicAckEth = 1 << 6,
  kHasImmDt = 1 << 7,
  kHasIeth = 1 << 8,
};

struct OpcodeInfo {
  std::string_view name;  // "RC_RDMA_WRITE_FIRST"; empty if the opcode is reserved
  Operation operation = Operation::kUnknown;
  Transport transport = Transport::kRc;
  uint16_t headers = 0;   // HeaderBit
  bool starts = false;    // the first packet of a message (FIRST, ONLY)
  bool ends = false;      // the last packet of a message (LAST, ONLY)
  bool response = false;  // uses the responder's PSN space
  // True if each packet has the next PSN of its direction: requests of a connected queue pair, and
  // READ responses. False for ACKs, which repeat a PSN, and for datagrams, whose PSN belongs to the
  // sender.
  bool sequenced = false;
};

// The operations in the lower five bits. The upper bits of RC are zero, so these are also the
// complete opcodes of RC.
enum Opcode : uint8_t {
  kOpcodeSendFirst = 0x00,
  kOpcodeSendMiddle = 0x01,
  kOpcodeSendLast = 0x02,
  kOpcodeSendLastImmediate = 0x03,
  kOpcodeSendOnly = 0x04,
  kOpcodeSendOnlyImmediate = 0x05,
  kOpcodeWriteFirst = 0x06,
  kOpcodeWriteMiddle = 0x07,
  kOpcodeWriteLast = 0x08,
  kOpcodeWriteLastImmediate = 0x09,
  kOpcodeWriteOnly = 0x0a,
  kOpcodeWriteOnlyImmediate = 0x0b,
  kOpcodeReadRequest = 0x0c,
  kOpcodeReadResponseFirst = 0x0d,
  kOpcodeReadResponseMiddle = 0x0e,
  kOpcodeReadResponseLast = 0x0f,
  kOpcodeReadResponseOnly = 0x10,
  kOpcodeAcknowledge = 0x11,
  kOpcodeAtomicAcknowledge = 0x12,
  kOpcodeCompareSwap = 0x13,
  kOpcodeFetchAdd = 0x14,
  kOpcodeResync = 0x15,
  kOpcodeSendLastInvalidate = 0x16,
  kOpcodeSendOnlyInvalidate = 0x17,
  kOpcodeUdSendOnly = 0x64,
  kOpcodeCnp = 0x81,
};

extern const std::array<OpcodeInfo, 256> kOpcodes;

inline const OpcodeInfo& InfoOf(uint8_t opcode) { return kOpcodes[opcode]; }

enum OpcodeFlag : uint8_t {
  kOpcodeDefined = 1 << 0,
  kOpcodeStarts = 1 << 1,
  kOpcodeEnds = 1 << 2,
  kOpcodeResponse = 1 << 3,
  kOpcodeSequenced = 1 << 4,
  kOpcodeAcknowledged = 1 << 5,  // RC and XRC: requests are answered by ACKs
  kOpcodeDatagram = 1 << 6,      // UD
};

// The properties of an opcode that every packet needs, in eight bytes, so that the whole table fits
// into the L1 cache together with other data.
struct OpcodeTraits {
  static constexpr uint8_t kNowhere = UINT8_MAX;
  uint8_t flags = 0;  // OpcodeFlag
  Operation operation = Operation::kUnknown;
  uint8_t header_bytes = 0;   // total size of all extended headers
  uint8_t reth_at = kNowhere;  // offset in bytes from the end of the BTH
  uint8_t aeth_at = kNowhere;
  uint8_t reserved[3] = {};

  bool Is(OpcodeFlag flag) const { return (flags & flag) != 0; }
};
static_assert(sizeof(OpcodeTraits) == 8);

extern const std::array<OpcodeTraits, 256> kOpcodeTraits;

inline const OpcodeTraits& TraitsOf(uint8_t opcode) { return kOpcodeTraits[opcode]; }

}  // namespace rocescope::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/opcode.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace rocescope::wire {
namespace {

struct Row {
  int code;
  std::string_view name;
  std::string_view headers;  // as in table 38
};

// IBTA vol. 1 table 38, Annex A14 for XRC, Annex A17.9.3 for the CNP, row by row.
constexpr Row kTable38[] = {
    // Reliable connection, 000
    {0b000'00000, "RC_SEND_FIRST", ""},
    {0b000'00001, "RC_SEND_MIDDLE", ""},
    {0b000'00010, "RC_SEND_LAST", ""},
    {0b000'00011, "RC_SEND_LAST_WITH_IMMEDIATE", "ImmDt"},
    {0b000'00100, "RC_SEND_ONLY", ""},
    {0b000'00101, "RC_SEND_ONLY_WITH_IMMEDIATE", "ImmDt"},
    {0b000'00110, "RC_RDMA_WRITE_FIRST", "RETH"},
    {0b000'00111, "RC_RDMA_WRITE_MIDDLE", ""},
    {0b000'01000, "RC_RDMA_WRITE_LAST", ""},
    {0b000'01001, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "ImmDt"},
    {0b000'01010, "RC_RDMA_WRITE_ONLY", "RETH"},
    {0b000'01011, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RETH ImmDt"},
    {0b000'01100, "RC_RDMA_READ_REQUEST", "RETH"},
    {0b000'01101, "RC_RDMA_READ_RESPONSE_FIRST", "AETH"},
    {0b000'01110, "RC_RDMA_READ_RESPONSE_MIDDLE", ""},
    {0b000'01111, "RC_RDMA_READ_RESPONSE_LAST", "AETH"},
    {0b000'10000, "RC_RDMA_READ_RESPONSE_ONLY", "AETH"},
    {0b000'10001, "RC_ACKNOWLEDGE", "AETH"},
    {0b000'10010, "RC_ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH"},
    {0b000'10011, "RC_COMPARE_SWAP", "AtomicETH"},
    {0b000'10100, "RC_FETCH_ADD", "AtomicETH"},
    {0b000'10110, "RC_SEND_LAST_WITH_INVALIDATE", "IETH"},
    {0b000'10111, "RC_SEND_ONLY_WITH_INVALIDATE", "IETH"},
    // Unreliable connection, 001
    {0b001'00000, "UC_SEND_FIRST", ""},
    {0b001'00001, "UC_SEND_MIDDLE", ""},
    {0b001'00010, "UC_SEND_LAST", ""},
    {0b001'00011, "UC_SEND_LAST_WITH_IMMEDIATE", "ImmDt"},
    {0b001'00100, "UC_SEND_ONLY", ""},
    {0b001'00101, "UC_SEND_ONLY_WITH_IMMEDIATE", "ImmDt"},
    {0b001'00110, "UC_RDMA_WRITE_FIRST", "RETH"},
    {0b001'00111, "UC_RDMA_WRITE_MIDDLE", ""},
    {0b001'01000, "UC_RDMA_WRITE_LAST", ""},
    {0b001'01001, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "ImmDt"},
    {0b001'01010, "UC_RDMA_WRITE_ONLY", "RETH"},
    {0b001'01011, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RETH ImmDt"},
    // Reliable datagram, 010
    {0b010'00000, "RD_SEND_FIRST", "RDETH DETH"},
    {0b010'00001, "RD_SEND_MIDDLE", "RDETH DETH"},
    {0b010'00010, "RD_SEND_LAST", "RDETH DETH"},
    {0b010'00011, "RD_SEND_LAST_WITH_IMMEDIATE", "RDETH DETH ImmDt"},
    {0b010'00100, "RD_SEND_ONLY", "RDETH DETH"},
    {0b010'00101, "RD_SEND_ONLY_WITH_IMMEDIATE", "RDETH DETH ImmDt"},
    {0b010'00110, "RD_RDMA_WRITE_FIRST", "RDETH DETH RETH"},
    {0b010'00111, "RD_RDMA_WRITE_MIDDLE", "RDETH DETH"},
    {0b010'01000, "RD_RDMA_WRITE_LAST", "RDETH DETH"},
    {0b010'01001, "RD_RDMA_WRITE_LAST_WITH_IMMEDIATE", "RDETH DETH ImmDt"},
    {0b010'01010, "RD_RDMA_WRITE_ONLY", "RDETH DETH RETH"},
    {0b010'01011, "RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RDETH DETH RETH ImmDt"},
    {0b010'01100, "RD_RDMA_READ_REQUEST", "RDETH DETH RETH"},
    {0b010'01101, "RD_RDMA_READ_RESPONSE_FIRST", "RDETH AETH"},
    {0b010'01110, "RD_RDMA_READ_RESPONSE_MIDDLE", "RDETH"},
    {0b010'01111, "RD_RDMA_READ_RESPONSE_LAST", "RDETH AETH"},
    {0b010'10000, "RD_RDMA_READ_RESPONSE_ONLY", "RDETH AETH"},
    {0b010'10001, "RD_ACKNOWLEDGE", "RDETH AETH"},
    {0b010'10010, "RD_ATOMIC_ACKNOWLEDGE", "RDETH AETH AtomicAckETH"},
    {0b010'10011, "RD_COMPARE_SWAP", "RDETH DETH AtomicETH"},
    {0b010'10100, "RD_FETCH_ADD", "RDETH DETH AtomicETH"},
    {0b010'10101, "RD_RESYNC", "RDETH DETH"},
    // Unreliable datagram, 011
    {0b011'00100, "UD_SEND_ONLY", "DETH"},
    {0b011'00101, "UD_SEND_ONLY_WITH_IMMEDIATE", "DETH ImmDt"},
    // RoCEv2 congestion notification
    {0b100'00001, "CNP", ""},
    // Extended reliable connection, 101
    {0b101'00000, "XRC_SEND_FIRST", "XRCETH"},
    {0b101'00001, "XRC_SEND_MIDDLE", "XRCETH"},
    {0b101'00010, "XRC_SEND_LAST", "XRCETH"},
    {0b101'00011, "XRC_SEND_LAST_WITH_IMMEDIATE", "XRCETH ImmDt"},
    {0b101'00100, "XRC_SEND_ONLY", "XRCETH"},
    {0b101'00101, "XRC_SEND_ONLY_WITH_IMMEDIATE", "XRCETH ImmDt"},
    {0b101'00110, "XRC_RDMA_WRITE_FIRST", "XRCETH RETH"},
    {0b101'00111, "XRC_RDMA_WRITE_MIDDLE", "XRCETH"},
    {0b101'01000, "XRC_RDMA_WRITE_LAST", "XRCETH"},
    {0b101'01001, "XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "XRCETH ImmDt"},
    {0b101'01010, "XRC_RDMA_WRITE_ONLY", "XRCETH RETH"},
    {0b101'01011, "XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "XRCETH RETH ImmDt"},
    {0b101'01100, "XRC_RDMA_READ_REQUEST", "XRCETH RETH"},
    {0b101'01101, "XRC_RDMA_READ_RESPONSE_FIRST", "AETH"},
    {0b101'01110, "XRC_RDMA_READ_RESPONSE_MIDDLE", ""},
    {0b101'01111, "XRC_RDMA_READ_RESPONSE_LAST", "AETH"},
    {0b101'10000, "XRC_RDMA_READ_RESPONSE_ONLY", "AETH"},
    {0b101'10001, "XRC_ACKNOWLEDGE", "AETH"},
    {0b101'10010, "XRC_ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH"},
    {0b101'10011, "XRC_COMPARE_SWAP", "XRCETH AtomicETH"},
    {0b101'10100, "XRC_FETCH_ADD", "XRCETH AtomicETH"},
    {0b101'10110, "XRC_SEND_LAST_WITH_INVALIDATE", "XRCETH IETH"},
    {0b101'10111, "XRC_SEND_ONLY_WITH_INVALIDATE", "XRCETH IETH"},
};

std::string HeadersOf(const OpcodeInfo& info) {
  constexpr std::pair<HeaderBit, std::string_view> kNames[] = {{kHasRdeth, "RDETH"},
                                                               {kHasDeth, "DETH"},
                                                               {kHasXrceth, "XRCETH"},
                                                               {kHasReth, "RETH"},
                                                               {kHasAeth, "AETH"},
                                                               {kHasAtomicEth, "AtomicETH"},
                                                               {kHasAtomicAckEth, "AtomicAckETH"},
                                                               {kHasImmDt, "ImmDt"},
                                                               {kHasIeth, "IETH"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((info.headers & bit) == 0) continue;
    if (!text.empty()) text += ' ';
    text += name;
  }
  return text;
}

TEST(Opcode, EveryRowMatchesTable38) {
  for (const Row& row : kTable38) {
    const OpcodeInfo& info = InfoOf(static_cast<uint8_t>(row.code));
    EXPECT_EQ(info.name, row.name);
    EXPECT_EQ(HeadersOf(info), row.headers) << row.name;
    EXPECT_EQ(static_cast<int>(info.transport), row.code >> 5) << row.name;
  }
}

TEST(Opcode, ReservedOpcodesHaveNoName) {
  std::map<int, std::string_view> defined;
  for (const Row& row : kTable38) defined[row.code] = row.name;
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(InfoOf(static_cast<uint8_t>(code)).name.empty(), !defined.contains(code)) << code;
  }
}

// A message starts with FIRST or ONLY and ends with LAST or ONLY. Single-packet operations start
// and end one.
TEST(Opcode, FirstStartsLastEndsOnlyDoesBoth) {
  for (const Row& row : kTable38) {
    const OpcodeInfo& info = InfoOf(static_cast<uint8_t>(row.code));
    const bool first = row.name.find("_FIRST") != row.name.npos;
    const bool middle = row.name.find("_MIDDLE") != row.name.npos;
    const bool last = row.name.find("_LAST") != row.name.npos;
    EXPECT_EQ(info.starts, !middle && !last) << row.name;
    EXPECT_EQ(info.ends, !first && !middle) << row.name;
  }
}

TEST(Opcode, ResponsesAreSentByTheResponder) {
  for (const Row& row : kTable38) {
    const bool response = row.name.find("READ_RESPONSE") != row.name.npos ||
                          row.name.find("ACKNOWLEDGE") != row.name.npos;
    EXPECT_EQ(InfoOf(static_cast<uint8_t>(row.code)).response, response) << row.name;
  }
}

TEST(Opcode, OperationFollowsTheName) {
  constexpr std::pair<std::string_view, Operation> kOperations[] = {
      {"_SEND_", Operation::kSend},
      {"_WRITE_", Operation::kWrite},
      {"_READ_REQUEST", Operation::kReadRequest},
      {"_READ_RESPONSE_", Operation::kReadResponse},
      {"_ATOMIC_ACKNOWLEDGE", Operation::kAtomicAcknowledge},
      {"C_ACKNOWLEDGE", Operation::kAcknowledge},
      {"D_ACKNOWLEDGE", Operation::kAcknowledge},
      {"_COMPARE_SWAP", Operation::kAtomic},
      {"_FETCH_ADD", Operation::kAtomic},
      {"_RESYNC", Operation::kResync},
      {"CNP", Operation::kCnp},
  };
  for (const Row& row : kTable38) {
    Operation expected = Operation::kUnknown;
    for (const auto& [part, operation] : kOperations) {
      if (row.name.find(part) != row.name.npos && expected == Operation::kUnknown) {
        expected = operation;
      }
    }
    EXPECT_EQ(InfoOf(static_cast<uint8_t>(row.code)).operation, expected) << row.name;
  }
}

}  // namespace
}  // namespace rocescope::wire

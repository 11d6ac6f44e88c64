// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/opcode.h"

#include "dataplane/wire/roce.h"

namespace rocescope::wire {
namespace {

using enum Operation;

// The operations that RC, UC, RD and UD share. The transport's bits precede them in the opcode.
struct Row {
  uint8_t code;
  Operation operation;
  uint16_t headers;
  bool starts;
  bool ends;
  bool response;
  std::array<std::string_view, 5> names;  // RC, UC, RD, UD, XRC; empty: not defined there
};

constexpr Row kRows[] = {
#define ROCESCOPE_NAMES(suffix, rc, uc, rd, ud, xrc)                             \
  {(rc) ? "RC_" suffix : "", (uc) ? "UC_" suffix : "", (rd) ? "RD_" suffix : "", \
   (ud) ? "UD_" suffix : "", (xrc) ? "XRC_" suffix : ""}
    {kOpcodeSendFirst, kSend, 0, true, false, false, ROCESCOPE_NAMES("SEND_FIRST", 1, 1, 1, 0, 1)},
    {kOpcodeSendMiddle, kSend, 0, false, false, false,
     ROCESCOPE_NAMES("SEND_MIDDLE", 1, 1, 1, 0, 1)},
    {kOpcodeSendLast, kSend, 0, false, true, false, ROCESCOPE_NAMES("SEND_LAST", 1, 1, 1, 0, 1)},
    {kOpcodeSendLastImmediate, kSend, kHasImmDt, false, true, false,
     ROCESCOPE_NAMES("SEND_LAST_WITH_IMMEDIATE", 1, 1, 1, 0, 1)},
    {kOpcodeSendOnly, kSend, 0, true, true, false, ROCESCOPE_NAMES("SEND_ONLY", 1, 1, 1, 1, 1)},
    {kOpcodeSendOnlyImmediate, kSend, kHasImmDt, true, true, false,
     ROCESCOPE_NAMES("SEND_ONLY_WITH_IMMEDIATE", 1, 1, 1, 1, 1)},
    {kOpcodeWriteFirst, kWrite, kHasReth, true, false, false,
     ROCESCOPE_NAMES("RDMA_WRITE_FIRST", 1, 1, 1, 0, 1)},
    {kOpcodeWriteMiddle, kWrite, 0, false, false, false,
     ROCESCOPE_NAMES("RDMA_WRITE_MIDDLE", 1, 1, 1, 0, 1)},
    {kOpcodeWriteLast, kWrite, 0, false, true, false,
     ROCESCOPE_NAMES("RDMA_WRITE_LAST", 1, 1, 1, 0, 1)},
    {kOpcodeWriteLastImmediate, kWrite, kHasImmDt, false, true, false,
     ROCESCOPE_NAMES("RDMA_WRITE_LAST_WITH_IMMEDIATE", 1, 1, 1, 0, 1)},
    {kOpcodeWriteOnly, kWrite, kHasReth, true, true, false,
     ROCESCOPE_NAMES("RDMA_WRITE_ONLY", 1, 1, 1, 0, 1)},
    {kOpcodeWriteOnlyImmediate, kWrite, kHasReth | kHasImmDt, true, true, false,
     ROCESCOPE_NAMES("RDMA_WRITE_ONLY_WITH_IMMEDIATE", 1, 1, 1, 0, 1)},
    {kOpcodeReadRequest, kReadRequest, kHasReth, true, true, false,
     ROCESCOPE_NAMES("RDMA_READ_REQUEST", 1, 0, 1, 0, 1)},
    {kOpcodeReadResponseFirst, kReadResponse, kHasAeth, true, false, true,
     ROCESCOPE_NAMES("RDMA_READ_RESPONSE_FIRST", 1, 0, 1, 0, 1)},
    {kOpcodeReadResponseMiddle, kReadResponse, 0, false, false, true,
     ROCESCOPE_NAMES("RDMA_READ_RESPONSE_MIDDLE", 1, 0, 1, 0, 1)},
    {kOpcodeReadResponseLast, kReadResponse, kHasAeth, false, true, true,
     ROCESCOPE_NAMES("RDMA_READ_RESPONSE_LAST", 1, 0, 1, 0, 1)},
    {kOpcodeReadResponseOnly, kReadResponse, kHasAeth, true, true, true,
     ROCESCOPE_NAMES("RDMA_READ_RESPONSE_ONLY", 1, 0, 1, 0, 1)},
    {kOpcodeAcknowledge, kAcknowledge, kHasAeth, true, true, true,
     ROCESCOPE_NAMES("ACKNOWLEDGE", 1, 0, 1, 0, 1)},
    {kOpcodeAtomicAcknowledge, kAtomicAcknowledge, kHasAeth | kHasAtomicAckEth, true, true, true,
     ROCESCOPE_NAMES("ATOMIC_ACKNOWLEDGE", 1, 0, 1, 0, 1)},
    {kOpcodeCompareSwap, kAtomic, kHasAtomicEth, true, true, false,
     ROCESCOPE_NAMES("COMPARE_SWAP", 1, 0, 1, 0, 1)},
    {kOpcodeFetchAdd, kAtomic, kHasAtomicEth, true, true, false,
     ROCESCOPE_NAMES("FETCH_ADD", 1, 0, 1, 0, 1)},
    {kOpcodeResync, kResync, 0, true, true, false, ROCESCOPE_NAMES("RESYNC", 0, 0, 1, 0, 0)},
    {kOpcodeSendLastInvalidate, kSend, kHasIeth, false, true, false,
     ROCESCOPE_NAMES("SEND_LAST_WITH_INVALIDATE", 1, 0, 0, 0, 1)},
    {kOpcodeSendOnlyInvalidate, kSend, kHasIeth, true, true, false,
     ROCESCOPE_NAMES("SEND_ONLY_WITH_INVALIDATE", 1, 0, 0, 0, 1)},
#undef ROCESCOPE_NAMES
};

constexpr std::array<OpcodeInfo, 256> Build() {
  std::array<OpcodeInfo, 256> table{};
  constexpr Transport kTransports[] = {Transport::kRc, Transport::kUc, Transport::kRd,
                                       Transport::kUd, Transport::kXrc};
  for (size_t code = 0; code < 256; ++code) {
    table[code].transport = static_cast<Transport>(code >> 5);
  }
  for (const Row& row : kRows) {
    for (size_t i = 0; i < 5; ++i) {
      if (row.names[i].empty()) continue;
      const Transport transport = kTransports[i];
      uint16_t headers = row.headers;
      if (transport == Transport::kUd) headers |= kHasDeth;
      if (transport == Transport::kRd) headers |= kHasRdeth;
      if (transport == Transport::kRd && !row.response) headers |= kHasDeth;
      if (transport == Transport::kXrc && !row.response) headers |= kHasXrceth;
      const bool connected = transport != Transport::kUd && transport != Transport::kRd;
      table[static_cast<size_t>(transport) << 5 | row.code] = {
          .name = row.names[i],
          .operation = row.operation,
          .transport = transport,
          .headers = headers,
          .starts = row.starts,
          .ends = row.ends,
          .response = row.response,
          .sequenced = connected && (!row.response || row.operation == kReadResponse)};
    }
  }
  table[kOpcodeCnp] = {
      .name = "CNP", .operation = kCnp, .transport = Transport::kCnp, .starts = true, .ends = true};
  return table;
}

constexpr OpcodeTraits Summarise(const OpcodeInfo& info) {
  OpcodeTraits traits;
  if (info.name.empty()) return traits;
  const auto flag = [&traits](bool is, OpcodeFlag bit) {
    if (is) traits.flags |= bit;
  };
  flag(true, kOpcodeDefined);
  flag(info.starts, kOpcodeStarts);
  flag(info.ends, kOpcodeEnds);
  flag(info.response, kOpcodeResponse);
  flag(info.sequenced, kOpcodeSequenced);
  flag(info.transport == Transport::kRc || info.transport == Transport::kXrc, kOpcodeAcknowledged);
  flag(info.transport == Transport::kUd, kOpcodeDatagram);
  traits.operation = info.operation;
  const auto header = [&](HeaderBit bit, size_t size, uint8_t* place = nullptr) {
    if ((info.headers & bit) == 0) return;
    if (place != nullptr) *place = traits.header_bytes;
    traits.header_bytes = static_cast<uint8_t>(traits.header_bytes + size);
  };
  header(kHasRdeth, Rdeth::kSize);
  header(kHasDeth, Deth::kSize);
  header(kHasXrceth, Xrceth::kSize);
  header(kHasReth, Reth::kSize, &traits.reth_at);
  header(kHasAtomicEth, AtomicEth::kSize);
  header(kHasAeth, Aeth::kSize, &traits.aeth_at);
  header(kHasAtomicAckEth, AtomicAckEth::kSize);
  header(kHasImmDt, ImmDt::kSize);
  header(kHasIeth, Ieth::kSize);
  return traits;
}

constexpr std::array<OpcodeInfo, 256> kBuilt = Build();

constexpr std::array<OpcodeTraits, 256> SummariseAll() {
  std::array<OpcodeTraits, 256> table{};
  for (size_t code = 0; code < table.size(); ++code) table[code] = Summarise(kBuilt[code]);
  return table;
}

}  // namespace

const std::array<OpcodeInfo, 256> kOpcodes = kBuilt;
constexpr std::array<OpcodeTraits, 256> kSummarised = SummariseAll();
const std::array<OpcodeTraits, 256> kOpcodeTraits = kSummarised;

}  // namespace rocescope::wire

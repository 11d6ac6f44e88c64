// SPDX-License-Identifier: BSD-3-Clause
// Every reason why a frame, or a report, datagram, sample or line in one, leaves no record: one row
// yields the enum, the ledger's counter, the metric's help text and the table in the documentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

// name, sentence
#define ROCESCOPE_DROP_REASONS(ROW)                                                               \
  ROW(NotRoce, "not_roce", "a whole frame of some other protocol: nothing that rocescope reads")  \
  ROW(TruncatedLink, "truncated_link", "the capture ends inside the Ethernet header or its tags") \
  ROW(TruncatedIp, "truncated_ip", "the capture ends inside the IPv4 or IPv6 header")             \
  ROW(TruncatedUdp, "truncated_udp", "the capture ends inside the UDP header")                    \
  ROW(TruncatedBth, "truncated_bth", "the capture ends inside the Base Transport Header")         \
  ROW(TruncatedMirror, "truncated_mirror",                                                        \
      "the capture ends inside a GRE, ERSPAN, VXLAN or Geneve header")                            \
  ROW(TruncatedPause, "truncated_pause", "the capture ends inside a pause or PFC frame")          \
  ROW(BadIp, "bad_ip", "an IP header whose version or length cannot be")                          \
  ROW(BadUdp, "bad_udp", "a UDP length that does not fit into its IP packet")                     \
  ROW(BadMirror, "bad_mirror", "a GRE, ERSPAN, VXLAN or Geneve header that its RFC forbids")      \
  ROW(BadBth, "bad_bth",                                                                          \
      "a transport header version other than 0 or a packet too short for its opcode")             \
  ROW(UnknownOpcode, "unknown_opcode", "a BTH opcode that the specification reserves")            \
  ROW(LaterFragment, "later_fragment",                                                            \
      "a non-first IP fragment: its transport header travelled in another packet")                \
  ROW(NestedTooDeep, "nested_too_deep", "more than three tunnels inside each other")              \
  ROW(TooManyHeaders, "too_many_headers",                                                         \
      "more VLAN tags or IPv6 extension headers than any real network stacks")                    \
  ROW(TruncatedTelemetry, "truncated_telemetry",                                                  \
      "the capture ends inside an INT header, an INT report or an sFlow datagram")                \
  ROW(BadInt, "bad_int",                                                                          \
      "an INT header or report whose version is not 2 or whose lengths contradict each other")    \
  ROW(UnknownReport, "unknown_report",                                                            \
      "an INT report of a type that rocescope does not read, such as IOAM")                       \
  ROW(BadSflow, "bad_sflow",                                                                      \
      "an sFlow datagram or sample of another version than 5, or with lengths that contradict "   \
      "each other")                                                                               \
  ROW(UnknownSample, "unknown_sample", "an sFlow sample of a type that rocescope does not read")  \
  ROW(BadCounters, "bad_counters", "a line that is not what counters.jsonl may hold")             \
  ROW(LostBetweenLcores, "lost_between_lcores",                                                   \
      "the core that decodes such frames was so busy that no more could wait for it")

enum class DropReason : uint8_t {
#define ROW(id, name, sentence) k##id,
  ROCESCOPE_DROP_REASONS(ROW)
#undef ROW
      kCount,
  kNone = kCount,  // the frame was decoded
};

inline constexpr size_t kDropReasonCount = static_cast<size_t>(DropReason::kCount);

struct DropReasonInfo {
  std::string_view name;
  std::string_view sentence;
};

inline constexpr std::array<DropReasonInfo, kDropReasonCount> kDropReasons = {{
#define ROW(id, name, sentence) {name, sentence},
    ROCESCOPE_DROP_REASONS(ROW)
#undef ROW
}};

}  // namespace rocescope

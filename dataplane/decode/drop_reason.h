// SPDX-License-Identifier: BSD-3-Clause
// The reasons why a frame, INT report, sFlow datagram, sample or counter line yields no record. One
// row defines the enum value, the ledger's counter and the metric's help text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

// name, description
#define ROCESCOPE_DROP_REASONS(ROW)                                                             \
  ROW(NotRoce, "not_roce", "complete frame of a protocol that rocescope does not decode")       \
  ROW(TruncatedLink, "truncated_link",                                                          \
      "the captured data ends inside the Ethernet header or its tags")                          \
  ROW(TruncatedIp, "truncated_ip", "the captured data ends inside the IPv4 or IPv6 header")     \
  ROW(TruncatedUdp, "truncated_udp", "the captured data ends inside the UDP header")            \
  ROW(TruncatedBth, "truncated_bth", "the captured data ends inside the Base Transport Header") \
  ROW(TruncatedMirror, "truncated_mirror",                                                      \
      "the captured data ends inside a GRE, ERSPAN, VXLAN or Geneve header")                    \
  ROW(TruncatedPause, "truncated_pause", "the captured data ends inside a pause or PFC frame")  \
  ROW(BadIp, "bad_ip", "invalid version or length in the IP header")                            \
  ROW(BadUdp, "bad_udp", "UDP length exceeds the IP packet")                                    \
  ROW(BadMirror, "bad_mirror",                                                                  \
      "GRE, ERSPAN, VXLAN or Geneve header that violates its specification")                    \
  ROW(BadBth, "bad_bth", "BTH version other than 0, or packet too short for its opcode")        \
  ROW(UnknownOpcode, "unknown_opcode", "reserved BTH opcode")                                   \
  ROW(LaterFragment, "later_fragment",                                                          \
      "IP fragment other than the first, which has no transport header")                        \
  ROW(NestedTooDeep, "nested_too_deep", "more than three nested tunnels")                       \
  ROW(TooManyHeaders, "too_many_headers", "too many VLAN tags or IPv6 extension headers")       \
  ROW(TruncatedTelemetry, "truncated_telemetry",                                                \
      "the captured data ends inside an INT header, an INT report or an sFlow datagram")        \
  ROW(BadInt, "bad_int",                                                                        \
      "INT header or report with a version other than 2 or inconsistent lengths")               \
  ROW(UnknownReport, "unknown_report", "INT report of an unsupported type, such as IOAM")       \
  ROW(BadSflow, "bad_sflow",                                                                    \
      "sFlow datagram or sample with a version other than 5 or inconsistent lengths")           \
  ROW(UnknownSample, "unknown_sample", "sFlow sample of an unsupported type")                   \
  ROW(UnknownSender, "unknown_sender",                                                          \
      "INT report or sFlow datagram of a sender that is neither in the topology nor allowed")   \
  ROW(ForeignNode, "foreign_node",                                                              \
      "sample of a node other than the one that is configured for its scrape target")           \
  ROW(BadCounters, "bad_counters",                                                              \
      "invalid line in counters.jsonl or in the response of an exporter")                       \
  ROW(LostBetweenLcores, "lost_between_lcores", "queue to the core that decodes the frame was full")

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

// SPDX-License-Identifier: BSD-3-Clause
// A second decoder, written from the specifications only and as plainly as possible, to be compared
// with dataplane/decode (tests/support/simple_difference.h). It shares no code with it, reads one
// field at a time, and returns text.
//
// Specifications: IEEE 802.3 and 802.1Q, RFC 791, 768, 8200, 2784, 2890, 7348, 8926,
// draft-foschiano-erspan-03, IBTA volume 1 (9.2, 9.3, 12.6, 13.4, A14, A17), P4.org INT v2.1.
// Limits and drop reasons are those that dataplane/decode/README.md, limits.h and drop_reason.h
// document.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace rocescope::test {

struct SimpleFrame {
  std::string drop;                           // name of the drop reason; empty if it was decoded
  std::map<std::string, std::string> fields;  // "bth.psn": "5"; parts of the input: "at 54, 100"
};

// `link_type` is a LINKTYPE value of libpcap.
SimpleFrame DecodeSimply(std::span<const uint8_t> bytes, int link_type);

}  // namespace rocescope::test

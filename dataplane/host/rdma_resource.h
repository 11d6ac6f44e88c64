// SPDX-License-Identifier: BSD-3-Clause
// Parses the output of `rdma resource show qp` of iproute2, as text or JSON. Older releases print
// invalid JSON (driver fields after or inside an object without a key, unbalanced braces), and
// files are often copied from a terminal. The parser therefore reads all words in one pass and
// treats everything between braces as one object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/qpn.h"

namespace rocescope {

struct RdmaQueuePair {
  std::string device;                   // ifname: "mlx5_0"
  std::optional<int> port;              // not printed by older releases
  Qpn local;                            // lqpn
  std::optional<Qpn> remote;            // rqpn; unset while unconnected and for datagrams
  std::string type;                     // "RC", "UD", "GSI", "XRC_INI", ...
  std::string state;                    // "RTS", ...
  std::optional<uint64_t> process_id;   // unset for the kernel's own queue pairs
  std::string command;                  // comm, without the brackets that mark a kernel module
  std::optional<uint32_t> receive_psn;  // rq-psn: the next expected PSN
  std::optional<uint32_t> send_psn;     // sq-psn
  size_t line = 0;                      // 1-based line at which the record starts
};

struct RdmaResource {
  std::vector<RdmaQueuePair> queue_pairs;
  uint64_t malformed = 0;  // lost records or lines
  uint64_t skipped = 0;    // complete records of other objects, such as shared receive queues
  std::vector<std::string> notes;  // "line 12: expected ...", the first kMaxRdmaResourceNotes
};

inline constexpr size_t kMaxRdmaResourceNotes = 100;

// Never fails. Ignores shell prompts, `#` comments and the per-device summary of `rdma resource`.
// Time and memory are linear in the text.
RdmaResource ParseRdmaResource(std::string_view text);

}  // namespace rocescope

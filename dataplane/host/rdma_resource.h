// SPDX-License-Identifier: BSD-3-Clause
// What `rdma resource show qp` of iproute2 prints, as text or as JSON. Older releases print JSON
// that no parser takes (driver fields behind or inside an object without a key, unbalanced braces),
// and files are often pasted together from a terminal, so this reads all of it in one pass: words
// are taken as they come, and an object is what stands between braces.
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
  std::optional<int> port;              // older releases may not print it
  Qpn local;                            // lqpn
  std::optional<Qpn> remote;            // rqpn; none while unconnected and for datagrams
  std::string type;                     // "RC", "UD", "GSI", "XRC_INI", ...
  std::string state;                    // "RTS", ...
  std::optional<uint64_t> process_id;   // none for the kernel's own
  std::string command;                  // comm, without the brackets that mark a kernel module
  std::optional<uint32_t> receive_psn;  // rq-psn: the next one expected
  std::optional<uint32_t> send_psn;     // sq-psn
  size_t line = 0;                      // 1-based, where the record begins
};

struct RdmaResource {
  std::vector<RdmaQueuePair> queue_pairs;
  uint64_t malformed = 0;          // records or lines that were lost
  uint64_t skipped = 0;            // whole records of something else: shared receive queues
  std::vector<std::string> notes;  // "line 12: expected ...", the first kMaxRdmaResourceNotes
};

inline constexpr size_t kMaxRdmaResourceNotes = 100;

// Never fails. Shell prompts, `#` comments and the per-device summary of `rdma resource` are passed
// over. Time and memory are linear in the text.
RdmaResource ParseRdmaResource(std::string_view text);

}  // namespace rocescope

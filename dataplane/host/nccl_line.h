// SPDX-License-Identifier: BSD-3-Clause
// The frame that NCCL puts round each message: `host:pid:tid [cudaDev] NCCL INFO message`, with
// what launchers write in front of it (`3: `, `[1,3]<stdout>:`, `[default3]:`) and the time stamp
// that NCCL 2.26 and later may add. WARN and TRACE lines carry more words before "NCCL".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

struct NcclLine {
  std::string_view host;
  uint64_t process_id = 0;
  uint64_t thread_id = 0;
  int cuda_device = -1;  // -1: none chosen yet
  std::string_view message;
  size_t begin = 0;          // of the host name, in the line
  size_t message_begin = 0;  // in the line
};

// The first framed message at or after `from`; its text runs to the end of the line. A second frame
// may follow in it where two processes share a file and a line end got lost.
std::optional<NcclLine> FindNcclLine(std::string_view line, size_t from);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// Parses the prefix of an NCCL message, `host:pid:tid [cudaDev] NCCL INFO message`. Launchers may
// add text before it (`3: `, `[1,3]<stdout>:`, `[default3]:`), and NCCL 2.26 and later may add a
// timestamp. WARN and TRACE lines contain more words before "NCCL".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

struct NcclLine {
  std::string_view host;
  uint64_t process_id = 0;
  uint64_t thread_id = 0;
  int cuda_device = -1;  // -1: none selected yet
  std::string_view message;
  size_t begin = 0;          // offset of the host name in the line
  size_t message_begin = 0;  // offset in the line
};

// Returns the first message with a prefix at or after `from`; its text extends to the end of the
// line. A second message may follow in the same line if two processes share a file and a line end
// was lost.
std::optional<NcclLine> FindNcclLine(std::string_view line, size_t from);

}  // namespace rocescope

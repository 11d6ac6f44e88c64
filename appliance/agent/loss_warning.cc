// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/loss_warning.h"

#include <fmt/format.h>

#include "base/count_text.h"

namespace rocescope {

std::string LossWarning::Look(const Losses& losses, Clock::time_point now) {
  const bool has_grown =
      losses.batches > reported_.batches || losses.unread_log_bytes > reported_.unread_log_bytes;
  if (!has_grown || now < due_) return "";
  due_ = now + std::chrono::minutes(1);
  reported_ = losses;
  std::string text;
  if (losses.batches > 0) {
    text = fmt::format(
        "{} ({} bytes) dropped since start, before the appliance accepted them: the send buffer "
        "was full; check the connection to the appliance, and increase `buffer` in the agent "
        "configuration or `agents.max_bytes_per_second` in the appliance configuration",
        Counted(losses.batches, "batch"), WithThousands(losses.bytes));
  }
  if (losses.unread_log_bytes > 0) {
    if (!text.empty()) text += "; ";
    text += UnreadLogText(losses.unread_log_bytes);
  }
  return text;
}

std::string UnreadLogText(uint64_t bytes) {
  return fmt::format(
      "{} bytes of logs were truncated or removed before they could be sent; rotate the logs less "
      "often, or increase `agents.max_bytes_per_second` in the appliance configuration",
      WithThousands(bytes));
}

}  // namespace rocescope

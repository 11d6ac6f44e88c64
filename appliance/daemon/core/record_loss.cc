// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/record_loss.h"

#include <fmt/format.h>

#include "base/count_text.h"

namespace rocescope {

std::string LossText(const RecordLoss& loss) {
  constexpr uint64_t kOneOf = 1000;
  const uint64_t lost = loss.records.given_up;
  const uint64_t all = lost + loss.records.taken;
  if (lost == 0 || kOneOf * lost < all) return "";
  return fmt::format(
      "analysis fell behind and dropped {} of {} records in the last {} s; results are incomplete "
      "and faults may be missed",
      WithThousands(lost), WithThousands(all),
      std::chrono::ceil<std::chrono::seconds>(loss.over).count());
}

RecordLoss RecentLoss::Note(const RecordCounts& counts, Clock::time_point now) {
  // Includes everything since the start.
  if (noted_.empty()) noted_.push_back({.counts = {}, .at = now});
  noted_.push_back({.counts = counts, .at = now});
  while (noted_.size() > 2 && noted_[1].at <= now - kLately) noted_.pop_front();
  const Noted& before = noted_.front();
  return {.records = {.taken = counts.taken - before.counts.taken,
                      .given_up = counts.given_up - before.counts.given_up},
          .over = now - before.at};
}

}  // namespace rocescope

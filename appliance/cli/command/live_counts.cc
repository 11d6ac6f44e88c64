// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/live_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

// "1.20 M", "950 k", "12 ": followed by a unit.
std::string Short(double value) {
  if (value >= 1e9) return fmt::format("{:.2f} G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.0f} k", value / 1e3);
  return fmt::format("{:.0f} ", value);
}

std::string Trimmed(std::string text) {
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

void AddLoss(uint64_t count, std::string_view what, std::string& line) {
  if (count > 0) line += fmt::format("; {} {}", WithThousands(count), what);
}

}  // namespace

std::string LiveLine(const LiveCounts& before, const LiveCounts& now, Duration between) {
  const double seconds = std::max(1e-9, static_cast<double>(between.count()) / 1e9);
  const Ledger& ledger = now.frames.ledger;
  const auto rate = [&](uint64_t from, uint64_t to) {
    return to < from ? 0.0 : static_cast<double>(to - from) / seconds;
  };
  const uint64_t other = ledger.dropped[static_cast<size_t>(DropReason::kNotRoce)];
  std::string line = fmt::format(
      "{} frames/s, {}bit/s; received {} = decoded {} + filtered {} + not RoCE {} + dropped {}; {} "
      "flows, {} "
      "records; mbufs {:.0f} %",
      Trimmed(Short(rate(before.frames.ledger.received, ledger.received))),
      Short(8 * rate(before.bytes, now.bytes)), WithThousands(ledger.received),
      WithThousands(ledger.decoded), WithThousands(ledger.filtered), WithThousands(other),
      WithThousands(ledger.DroppedTotal() - other), WithThousands(now.flows),
      WithThousands(now.records), now.mbufs_in_use * 100);
  AddLoss(now.missed, "missed by the NIC", line);
  AddLoss(now.no_mbuf, "without an mbuf", line);
  AddLoss(now.errors, "with errors", line);
  AddLoss(ledger.dropped[static_cast<size_t>(DropReason::kLostBetweenLcores)],
          "dropped between cores", line);
  AddLoss(now.records_dropped, "records lost", line);
  return line;
}

}  // namespace rocescope

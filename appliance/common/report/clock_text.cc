// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

bool IsOff(const v1::Clock& clock) {
  return clock.drifts() ||
         (clock.known() && std::max(Nanoseconds(clock.offset()), -Nanoseconds(clock.offset())) >
                               Nanoseconds(clock.uncertainty()));
}

}  // namespace

void AppendClocks(const v1::ReplayReport& report, std::string& text) {
  std::map<uint32_t, std::string> references;  // grouped by kind
  std::vector<const v1::Clock*> off;
  uint64_t known = 0;
  for (const v1::Clock& clock : report.clocks().clocks()) {
    if (clock.reference()) references[clock.group()] = WordOf(clock.kind()) + " " + clock.name();
    known += clock.known();
    if (IsOff(clock)) off.push_back(&clock);
  }
  if (off.empty()) return;
  text += fmt::format(
      "CLOCKS: {} of {} with packets in common have an offset beyond its uncertainty\n\n",
      WithThousands(off.size()), WithThousands(known));
  const auto key = [](const v1::Clock* clock) {
    return std::tuple(-std::max(Nanoseconds(clock->offset()), -Nanoseconds(clock->offset())),
                      clock->kind(), clock->name());
  };
  std::ranges::sort(off, {}, key);
  TextTable table({{"CLOCK"},
                   {"OFFSET", Align::kRight},
                   {"UNCERTAINTY", Align::kRight},
                   {"DRIFT", Align::kRight},
                   {"REFERENCE"},
                   {"PACKETS", Align::kRight}});
  int rows = 0;
  for (const v1::Clock* clock : off) {
    if (rows++ == kMaxRows) break;
    table.Add({WordOf(clock->kind()) + " " + clock->name(),
               SignedDuration(Nanoseconds(clock->offset())),
               HumanDuration(Nanoseconds(clock->uncertainty())),
               clock->drifts() ? fmt::format("{:+.1f} ppm", clock->drift_ppb() / 1000) : "",
               references[clock->group()], WithThousands(clock->packets())});
  }
  text += table.Deferred(2);
  AppendMore(static_cast<int>(off.size()), "clock", text);
  text += "\n";
}

}  // namespace rocescope

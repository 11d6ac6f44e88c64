// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

bool IsOff(const v1::Clock& clock) {
  return clock.drifts() || (clock.known() && std::max(clock.offset_ns(), -clock.offset_ns()) >
                                                 clock.uncertainty_ns());
}

}  // namespace

void AppendClocks(const v1::ReplayReport& report, std::string& text) {
  std::map<uint32_t, std::string> references;  // grouped by kind
  std::vector<const v1::Clock*> off;
  uint64_t known = 0;
  for (const v1::Clock& clock : report.clocks().clocks()) {
    if (clock.reference()) references[clock.group()] = clock.kind() + " " + clock.name();
    known += clock.known();
    if (IsOff(clock)) off.push_back(&clock);
  }
  if (off.empty()) return;
  text += fmt::format(
      "CLOCKS: {} of {} with packets in common have an offset beyond its uncertainty\n\n",
      WithThousands(off.size()), WithThousands(known));
  const auto key = [](const v1::Clock* clock) {
    return std::tuple(-std::max(clock->offset_ns(), -clock->offset_ns()), clock->kind(),
                      clock->name());
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
    table.Add({clock->kind() + " " + clock->name(), SignedDuration(clock->offset_ns()),
               HumanDuration(clock->uncertainty_ns()),
               clock->drifts() ? fmt::format("{:+.1f} ppm", clock->drift_ppb() / 1000) : "",
               references[clock->group()], WithThousands(clock->packets())});
  }
  text += table.Render(2);
  AppendMore(static_cast<int>(off.size()), "clock", text);
  text += "\n";
}

}  // namespace rocescope

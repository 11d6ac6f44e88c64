// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string ValueText(double value, std::string_view unit) {
  if (unit == "ns") return HumanDuration(std::llround(std::clamp(value, -9e18, 9e18)));
  if (unit == "ratio") return fmt::format("{:.1f} %", 100 * value);
  if (unit == "bit/s") return fmt::format("{:.3g} Gbit/s", value / 1e9);
  if (unit == "degrees Celsius") return fmt::format("{:.0f} C", value);
  return fmt::format("{:.4g} {}", value, Visible(std::string(unit)));
}

// Ports count their own drops and broken frames only; other losses are not included.
std::string NameOf(const v1::ServiceIndicator& indicator) {
  return Visible(indicator.name()) + (indicator.name() == "frames_lost" ? " (counted drops)" : "");
}

std::string CountText(uint64_t count) { return count == 0 ? "-" : WithThousands(count); }

}  // namespace

void AppendServiceLevels(const v1::ReplayReport& report, std::string& text) {
  const v1::ServiceLevels& all = report.service_levels();
  uint64_t known = 0;
  uint64_t missed = 0;
  uint64_t at_risk = 0;
  for (const v1::ServiceIndicator& one : all.indicators()) {
    known += one.met_count() + one.at_risk_count() + one.missed_count();
    missed += one.missed_count();
    at_risk += one.at_risk_count();
  }
  if (all.indicators().empty()) return;
  if (known == 0) {
    text += "SERVICE LEVELS: no data\n\n";
    return;
  }
  text += fmt::format(
      "SERVICE LEVELS: {}: {} missed, {} at risk\n"
      "\n"
      "  met: within BOUND in at least {:.0f} % of the windows.\n"
      "  missed: below this share in the last {} windows (SHORT) and also in the last {} (LONG). "
      "at risk: below it in SHORT only.\n"
      "  WORST is the entity with the worst level. SHORT, LONG and LAST (the value in the last "
      "window) refer to it.\n"
      "\n",
      Counted(known, "level"), WithThousands(missed), WithThousands(at_risk), 100 * all.objective(),
      all.short_window_count(), all.long_window_count());
  TextTable table({{"LAYER", Align::kLeft, 1},
                   {"INDICATOR"},
                   {"MET", Align::kRight},
                   {"AT RISK", Align::kRight},
                   {"MISSED", Align::kRight},
                   {"NO DATA", Align::kRight, 2},
                   {"WORST"},
                   {"SHORT", Align::kRight, 4},
                   {"LONG", Align::kRight, 3},
                   {"LAST", Align::kRight},
                   {"BOUND"}});
  for (const v1::ServiceIndicator& one : all.indicators()) {
    std::vector<std::string> row = {WordOf(one.layer()),           NameOf(one),
                                    CountText(one.met_count()),    CountText(one.at_risk_count()),
                                    CountText(one.missed_count()), CountText(one.no_data_count())};
    if (one.has_worst()) {
      const v1::ServiceLevel& worst = one.worst();
      row.insert(
          row.end(),
          {Visible(worst.entity()), fmt::format("{:.0f} %", 100 * worst.short_window_ratio()),
           fmt::format("{:.0f} %", 100 * worst.long_window_ratio()),
           ValueText(worst.last_value(), one.unit()),
           fmt::format(
               "{} {}{}",
               one.violation() == v1::ServiceIndicator::VIOLATION_BELOW ? "at least" : "at most",
               ValueText(worst.bound(), one.unit()), worst.bound_learnt() ? " (learnt)" : "")});
    } else {
      row.insert(row.end(), {"-", "", "", "", ""});
    }
    table.Add(std::move(row));
  }
  text += table.Deferred(2) + "\n";
}

}  // namespace rocescope

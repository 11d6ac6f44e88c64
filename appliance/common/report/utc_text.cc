// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/utc_text.h"

#include <fmt/format.h>

#include <ctime>

namespace rocescope {
namespace {

std::tm UtcOf(int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

std::string TimeText(int64_t ns, const char* format, TimeDigits digits) {
  const std::tm parts = UtcOf(ns);
  char text[40];
  std::strftime(text, sizeof text, format, &parts);
  const int64_t fraction = ns % 1'000'000'000;
  return digits == TimeDigits::kMilliseconds ? fmt::format("{}.{:03}", text, fraction / 1'000'000)
                                             : fmt::format("{}.{:06}", text, fraction / 1'000);
}

}  // namespace

std::string UtcTime(int64_t ns, TimeDigits digits) { return TimeText(ns, "%H:%M:%S", digits); }

std::string UtcDayAndTime(int64_t ns, TimeDigits digits) {
  return TimeText(ns, "%Y-%m-%d %H:%M:%S", digits);
}

bool IsSameUtcDay(int64_t a_ns, int64_t b_ns) {
  const std::tm a = UtcOf(a_ns);
  const std::tm b = UtcOf(b_ns);
  return a.tm_yday == b.tm_yday && a.tm_year == b.tm_year;
}

}  // namespace rocescope

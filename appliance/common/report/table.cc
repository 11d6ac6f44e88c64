// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "appliance/common/report/visible_text.h"

namespace rocescope {

void TextTable::Add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    if (!std::all_of(cell.begin(), cell.end(), IsPlainAscii)) cell = Visible(cell);
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render(size_t indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<size_t> shown;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], columns_[i].title.size());
    shown.push_back(i);
  }
  std::string text;
  const auto line = [&](auto cell_of) {
    std::string row(indent, ' ');
    for (size_t n = 0; n < shown.size(); ++n) {
      const size_t i = shown[n];
      const std::string_view cell = cell_of(i);
      if (n > 0) row += "  ";
      row += columns_[i].align == Align::kRight ? fmt::format("{:>{}}", cell, widths[i])
                                                : fmt::format("{:<{}}", cell, widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row;
    text += '\n';
  };
  line([&](size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) {
    line([&](size_t i) { return i < row.size() ? std::string_view(row[i]) : std::string_view(); });
  }
  return text;
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string HumanDuration(int64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  // One digit is shown: round up to the next unit.
  if (nanoseconds < 1'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 999'950) return fmt::format("{:.1f} us", value / 1e3);
  if (nanoseconds < 999'950'000) return fmt::format("{:.1f} ms", value / 1e6);
  if (nanoseconds < 59'995'000'000) return fmt::format("{:.2f} s", value / 1e9);
  const int64_t seconds = (nanoseconds + 500'000'000) / 1'000'000'000;
  if (seconds < 3'600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  const int64_t minutes = (seconds + 30) / 60;
  if (minutes < 24 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  const int64_t hours = (minutes + 30) / 60;
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string SignedDuration(int64_t nanoseconds) {
  return (nanoseconds < 0 ? "-" : "+") +
         HumanDuration(nanoseconds < 0 ? -nanoseconds : nanoseconds);
}

std::string ConfidenceText(double confidence) {
  constexpr double kNothing = 1e-9;  // 0.29 * 100 is slightly less than 29
  if (confidence > 0.99 + kNothing) return ">0.99";
  return fmt::format("{:.2f}", std::floor(confidence * 100 + kNothing) / 100);
}

}  // namespace rocescope

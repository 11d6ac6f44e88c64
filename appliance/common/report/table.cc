// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

constexpr std::string_view kGap = "  ";
constexpr char kSeparator = '\x1f';  // between the cells of Deferred
constexpr size_t kLeastLast = 30;    // characters of a wrapped last column

// Removes the words that fit from the text and returns them; at least one.
std::string_view TakeWords(std::string_view& text, size_t width) {
  size_t end = text.size();
  if (text.size() > width) {
    end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) end = std::min(text.find(' ', 1), text.size());
  }
  const std::string_view words = text.substr(0, end);
  text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  return words;
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(text.find(kSeparator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void TextTable::Add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    if (!std::all_of(cell.begin(), cell.end(), IsPlainAscii)) cell = Visible(cell);
  }
  rows_.push_back(std::move(cells));
}

std::vector<size_t> TextTable::Choose(size_t indent, size_t width, std::vector<size_t>& widths,
                                      std::vector<size_t>& omitted) const {
  std::vector<size_t> shown;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], columns_[i].title.size());
    shown.push_back(i);
  }
  while (!shown.empty()) {
    size_t end = indent;
    for (const size_t i : shown) end += widths[i] + kGap.size();
    end -= kGap.size();
    if (end <= width) break;
    const size_t last = shown.back();
    const size_t start = end - widths[last];
    if (columns_[last].align == Align::kLeft && start + kLeastLast <= width) {
      widths[last] = width - start;
      break;
    }
    // The rightmost one of the most dispensable columns.
    const auto worst = std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return std::pair(columns_[a].dispensable, a) < std::pair(columns_[b].dispensable, b);
    });
    if (columns_[*worst].dispensable == 0) break;
    omitted.push_back(*worst);
    shown.erase(worst);
  }
  std::ranges::sort(omitted);
  return shown;
}

std::string TextTable::Render(size_t indent, size_t width) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<size_t> omitted;
  const std::vector<size_t> shown = Choose(indent, width, widths, omitted);
  std::string text;
  const auto line = [&](auto cell_of) {
    std::string row(indent, ' ');
    std::string_view rest;  // what is left from the cell in the last column
    for (size_t n = 0; n < shown.size(); ++n) {
      const size_t i = shown[n];
      std::string_view cell = cell_of(i);
      if (n > 0) row += kGap;
      if (n + 1 == shown.size() && cell.size() > widths[i]) {
        rest = cell;
        cell = TakeWords(rest, widths[i]);
      }
      row += columns_[i].align == Align::kRight ? fmt::format("{:>{}}", cell, widths[i])
                                                : fmt::format("{:<{}}", cell, widths[i]);
    }
    const size_t start = row.size() - (shown.empty() ? 0 : widths[shown.back()]);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row;
    text += '\n';
    while (!rest.empty()) {
      text.append(start, ' ');
      text += TakeWords(rest, widths[shown.back()]);
      text += '\n';
    }
  };
  line([&](size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) {
    line([&](size_t i) { return i < row.size() ? std::string_view(row[i]) : std::string_view(); });
  }
  if (omitted.empty()) return text;
  std::vector<std::string_view> titles;
  for (const size_t i : omitted) titles.push_back(columns_[i].title);
  return text +
         fmt::format("{:{}}not shown at this width: {}\n", "", indent, fmt::join(titles, ", "));
}

std::string TextTable::Deferred(size_t indent) const {
  std::string text = fmt::format("{}{}", kDeferredHead, indent);
  for (const Column& column : columns_) {
    text += fmt::format("{}{}{}{}", kSeparator, column.align == Align::kRight ? 'R' : 'L',
                        static_cast<char>('0' + column.dispensable), column.title);
  }
  text += '\n';
  for (const auto& row : rows_) {
    text += kDeferredRow;
    text += fmt::to_string(fmt::join(row, std::string_view(&kSeparator, 1)));
    text += '\n';
  }
  return text;
}

std::string TextTable::RenderDeferred(std::string_view head, std::span<const std::string_view> rows,
                                      size_t width) {
  const std::vector<std::string_view> parts = Split(head.substr(1));
  size_t indent = 0;
  std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), indent);
  std::vector<Column> columns;
  for (const std::string_view part : std::span(parts).subspan(1)) {
    if (part.size() < 2) continue;  // not from Deferred
    columns.push_back({.title = part.substr(2),
                       .align = part[0] == 'R' ? Align::kRight : Align::kLeft,
                       .dispensable = static_cast<uint8_t>(part[1] - '0')});
  }
  TextTable table(std::move(columns));
  for (const std::string_view row : rows) {
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(row.substr(1))) cells.emplace_back(cell);
    cells.resize(std::min(cells.size(), table.columns_.size()));
    table.Add(std::move(cells));
  }
  return table.Render(indent, width);
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

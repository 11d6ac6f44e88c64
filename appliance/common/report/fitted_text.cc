// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/fitted_text.h"

#include <algorithm>
#include <vector>

#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

constexpr size_t kHang = 2;        // further right than the start of the line
constexpr size_t kLastLabel = 24;  // column before which the text behind a label starts
constexpr size_t kLeastText = 20;  // columns of text on a continued line, even if it is too wide
constexpr std::string_view kDigits = "0123456789";

struct Shape {
  size_t text = 0;  // column of the text, behind a number or a label
  size_t hang = 0;  // column at which a long line is continued
};

Shape ShapeOf(std::string_view line) {
  const size_t start = std::min(line.find_first_not_of(' '), line.size());
  const size_t behind_number = line.find_first_not_of(kDigits, start);
  if (behind_number != std::string_view::npos && behind_number > start &&
      line.substr(behind_number).starts_with(". ")) {
    return {.text = behind_number + 2, .hang = behind_number + 2};
  }
  const size_t gap = line.find("  ", start);
  if (gap != std::string_view::npos) {
    const size_t text = line.find_first_not_of(' ', gap);
    if (text != std::string_view::npos && text <= kLastLabel) return {.text = text, .hang = text};
  }
  return {.text = start, .hang = start + kHang};
}

// Number of characters: bytes that do not continue a UTF-8 sequence.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The end of the last word that fits; the end of the first one if none fits.
size_t BreakOf(std::string_view text, size_t width) {
  size_t best = std::string_view::npos;
  for (size_t space = text.find(' '); space != std::string_view::npos;
       space = text.find(' ', space + 1)) {
    if (space == 0 || text[space - 1] == ' ') continue;
    if (WidthOf(text.substr(0, space)) > width) break;
    best = space;
  }
  if (best != std::string_view::npos) return best;
  const size_t first = text.find(' ', std::min(text.find_first_not_of(' '), text.size()));
  return first == std::string_view::npos ? text.size() : first;
}

void AppendLine(std::string_view line, size_t width, std::string& text) {
  const auto [begin, hang] = ShapeOf(line);
  const size_t rest_width = std::max(width, hang + kLeastText) - hang;
  size_t end = line.size();
  if (WidthOf(line) > width) {
    end = begin + BreakOf(line.substr(begin), std::max(width, begin + kLeastText) - begin);
  }
  text += line.substr(0, end);
  line.remove_prefix(end);
  while (!line.empty()) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) break;
    const size_t next = WidthOf(line) <= rest_width ? line.size() : BreakOf(line, rest_width);
    text += '\n';
    text.append(hang, ' ');
    text += line.substr(0, next);
    line.remove_prefix(next);
  }
  text += '\n';
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string FitText(std::string_view text, size_t width) {
  std::string fitted;
  while (!text.empty()) {
    if (text[0] == TextTable::kDeferredHead) {
      const std::string_view head = TakeLine(text);
      std::vector<std::string_view> rows;
      while (!text.empty() && text[0] == TextTable::kDeferredRow) rows.push_back(TakeLine(text));
      fitted += TextTable::RenderDeferred(head, rows, width);
      continue;
    }
    const bool is_complete = text.find('\n') != std::string_view::npos;
    AppendLine(TakeLine(text), width, fitted);
    if (!is_complete) fitted.pop_back();
  }
  return fitted;
}

}  // namespace rocescope

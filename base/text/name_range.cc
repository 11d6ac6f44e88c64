// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/name_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace rocescope::topology {
namespace {

constexpr size_t kMaxDigits = 18;                              // always fits into 64 bits
constexpr uint64_t kEndOfNumbers = 1'000'000'000'000'000'000;  // the first with more digits
constexpr size_t kMaxBrackets = 8;
constexpr size_t kLongestName = 255;  // as a host name

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `text` must consist of at most kMaxDigits digits.
uint64_t ToNumber(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

tl::unexpected<Error> Refuse(std::string message) {
  return MakeError(ErrorCode::kInvalidArgument, std::move(message));
}

// Numbers as text, because "001" differs from "1".
using Numbers = std::vector<std::string>;

class Expander {
 public:
  Expander(std::string_view text, size_t most) : text_(text), most_(most) {}

  Result<std::vector<std::string>> Run() {
    size_t begin = 0;
    bool inside = false;
    for (size_t i = 0; i <= text_.size(); ++i) {
      const char c = i < text_.size() ? text_[i] : ',';
      if (i == text_.size() && inside) return Refuse(fmt::format("\"{}\" has no closing ]", text_));
      if (c == '[' && inside) return Refuse(fmt::format("\"{}\" has nested brackets", text_));
      if (c == ']' && !inside) return Refuse(fmt::format("\"{}\" has a ] without a [", text_));
      if (c == '[' || c == ']') inside = c == '[';
      if (c != ',' || inside) continue;
      if (Status part = AddPart(Trimmed(text_.substr(begin, i - begin))); !part) {
        return tl::unexpected(part.error());
      }
      begin = i + 1;
    }
    return std::move(names_);
  }

 private:
  Status AddPart(std::string_view part) {
    if (part.empty()) return Refuse(fmt::format("\"{}\" has an empty name", text_));
    const std::string_view part_begin = part;
    std::vector<std::string> texts;  // text before, between and after the brackets
    std::vector<Numbers> numbers;
    size_t count = 1;
    while (true) {
      const size_t open = part.find('[');
      texts.emplace_back(part.substr(0, open));
      if (open == std::string_view::npos) break;
      const size_t close = part.find(']', open);
      Result<Numbers> choice = Choices(part.substr(open + 1, close - open - 1));
      if (!choice) return tl::unexpected(choice.error());
      count *= choice->size();
      numbers.push_back(*std::move(choice));
      if (count > most_ - names_.size() || numbers.size() > kMaxBrackets) return TooMany();
      part.remove_prefix(close + 1);
    }
    if (names_.size() >= most_) return TooMany();
    size_t longest = 0;
    for (const std::string& text : texts) longest += text.size();
    for (const Numbers& choice : numbers) {
      longest += std::ranges::max(choice, {}, &std::string::size).size();
    }
    if (longest > kLongestName) {
      return Refuse(
          fmt::format("\"{:.40}...\" is longer than {} characters", part_begin, kLongestName));
    }
    for (size_t i = 0; i < count; ++i) {
      std::string name = texts.back();
      size_t rest = i;
      for (size_t n = numbers.size(); n-- > 0; rest /= numbers[n].size()) {
        name.insert(0, numbers[n][rest % numbers[n].size()]);
        name.insert(0, texts[n]);
      }
      names_.push_back(std::move(name));
    }
    return {};
  }

  // Expands the content of brackets.
  Result<Numbers> Choices(std::string_view list) const {
    Numbers numbers;
    while (true) {
      const size_t comma = list.find(',');
      if (Status range = AddRange(Trimmed(list.substr(0, comma)), numbers); !range) {
        return tl::unexpected(range.error());
      }
      if (comma == std::string_view::npos) return numbers;
      list.remove_prefix(comma + 1);
    }
  }

  Status AddRange(std::string_view range, Numbers& numbers) const {
    const auto bad = [&] {
      return Refuse(
          fmt::format("\"{}\" has \"{}\" in brackets; expected a number or a range such "
                      "as 1-16, 001-128 or 0-60/4",
                      text_, range));
    };
    std::string_view rest = range;
    const std::optional<std::string_view> low = TakeDigits(rest);
    if (!low) return bad();
    std::optional<std::string_view> high = low;
    std::optional<std::string_view> step = "1";
    if (!rest.empty()) {
      if (rest.front() != '-') return bad();
      rest.remove_prefix(1);
      high = TakeDigits(rest);
      if (high && !rest.empty() && rest.front() == '/') {
        rest.remove_prefix(1);
        step = TakeDigits(rest);
      }
    }
    if (!high || !step || !rest.empty() || ToNumber(*step) == 0) return bad();
    const uint64_t first = ToNumber(*low);
    const uint64_t last = ToNumber(*high);
    if (last < first) {
      return Refuse(fmt::format("\"{}\" counts down from {} to {}", text_, *low, *high));
    }
    if ((last - first) / ToNumber(*step) >= most_ - std::min(most_, numbers.size())) {
      return TooMany();
    }
    for (uint64_t i = first; i <= last; i += ToNumber(*step)) {
      numbers.push_back(fmt::format("{:0{}}", i, low->size()));
    }
    return {};
  }

  static std::optional<std::string_view> TakeDigits(std::string_view& text) {
    size_t count = 0;
    while (count < text.size() && IsDigit(text[count])) ++count;
    if (count == 0 || count > kMaxDigits) return std::nullopt;
    const std::string_view digits = text.substr(0, count);
    text.remove_prefix(count);
    return digits;
  }

  tl::unexpected<Error> TooMany() const {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("\"{:.200}\" expands to more than {} names", text_, most_));
  }

  std::string_view text_;
  size_t most_;
  std::vector<std::string> names_;
};

}  // namespace

Result<std::vector<std::string>> ExpandNames(std::string_view text, size_t most) {
  return Expander(text, most).Run();
}

std::string NameRun::NameAt(uint64_t value) const {
  return fmt::format("{}{:0{}}{}", std::string_view(first_).substr(0, begin_), value, width_,
                     std::string_view(first_).substr(end_));
}

bool NameRun::Extend(std::string_view next) {
  if (count_ > 1) {
    const uint64_t value = start_ + step_ * count_;
    if (value >= kEndOfNumbers || NameAt(value) != next) return false;
    ++count_;
    return true;
  }
  // Find the number in which the first two names differ.
  size_t begin = 0;
  while (begin < first_.size() && begin < next.size() && first_[begin] == next[begin]) ++begin;
  while (begin > 0 && IsDigit(first_[begin - 1])) --begin;
  const auto end_of_number = [begin](std::string_view name) {
    size_t end = begin;
    while (end < name.size() && IsDigit(name[end])) ++end;
    return end;
  };
  const size_t end = end_of_number(first_);
  const size_t next_end = end_of_number(next);
  if (end == begin || end - begin > kMaxDigits || next_end == begin ||
      next_end - begin > kMaxDigits) {
    return false;
  }
  const uint64_t value = ToNumber(std::string_view(first_).substr(begin, end - begin));
  const uint64_t next_value = ToNumber(next.substr(begin, next_end - begin));
  if (next_value <= value) return false;
  begin_ = begin;
  end_ = end;
  start_ = value;
  step_ = next_value - value;
  width_ = end - begin;  // ExpandNames pads to this width
  if (NameAt(next_value) != next) return false;
  count_ = 2;
  return true;
}

std::string NameRun::Text() const {
  if (count_ == 1) return first_;
  const std::string_view name = first_;
  const uint64_t last = start_ + step_ * (count_ - 1);
  return fmt::format("{}[{}-{:0{}}{}]{}", name.substr(0, begin_),
                     name.substr(begin_, end_ - begin_), last, width_,
                     step_ == 1 ? "" : fmt::format("/{}", step_), name.substr(end_));
}

std::string CompressNames(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size();) {
    NameRun run(names[i]);
    while (i + run.count() < names.size() && run.Extend(names[i + run.count()])) {
    }
    if (run.count() == 2 && !run.by_ones()) run = NameRun(names[i]);
    if (!text.empty()) text += ",";
    text += run.Text();
    i += run.count();
  }
  return text;
}

}  // namespace rocescope::topology

// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/list_filter.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/daemon/service/field_path.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsNotEmpty(const FieldValue& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr || !text->empty();
}

// std::string::find takes a time proportional to the product of both sizes if the text almost
// matches everywhere. memmem of the C libraries takes a time proportional to their sum.
bool Contains(const std::string& text, const std::string& part) {
  return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kAtMost,
  kGreater,
  kAtLeast,
  kHas,
  kStartsWith,
  kEndsWith,
};

bool Compare(const FieldValue& value, Comparison comparison, const FieldValue& wanted) {
  switch (comparison) {
    case Comparison::kEqual:
    case Comparison::kNotEqual:  // Node::Matches negates the result
      return value == wanted;
    case Comparison::kLess:
      return value < wanted;
    case Comparison::kAtMost:
      return value <= wanted;
    case Comparison::kGreater:
      return value > wanted;
    case Comparison::kAtLeast:
      return value >= wanted;
    case Comparison::kHas:
    case Comparison::kStartsWith:
    case Comparison::kEndsWith:
      break;
  }
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return value == wanted;
  const std::string& part = std::get<std::string>(wanted);
  if (comparison == Comparison::kStartsWith) return text->starts_with(part);
  if (comparison == Comparison::kEndsWith) return text->ends_with(part);
  return Contains(*text, part);
}

tl::unexpected<ServiceError> InvalidFilter(const std::string& why) {
  return RefuseFields({"filter"}, why);
}

template <typename T>
std::optional<FieldValue> ParsedTime(const std::string& text) {
  T message;
  if (!ParseText(text, message)) return std::nullopt;
  return static_cast<long double>(Nanoseconds(message));
}

std::optional<FieldValue> ParsedNumber(const std::string& text) {
  double number = 0;
  int64_t integer = 0;
  uint64_t natural = 0;
  const char* const end = text.data() + text.size();
  const auto is_whole = [&](std::from_chars_result parsed) {
    return parsed.ec == std::errc() && parsed.ptr == end;
  };
  if (is_whole(std::from_chars(text.data(), end, integer)))
    return static_cast<long double>(integer);
  if (is_whole(std::from_chars(text.data(), end, natural)))
    return static_cast<long double>(natural);
  if (!is_whole(std::from_chars(text.data(), end, number)) || std::isnan(number)) {
    return std::nullopt;
  }
  return static_cast<long double>(number);
}

// Parses a value for a field. The error lists what the field accepts.
ServiceResult<FieldValue> ParseValue(const FieldDescriptor& field, const std::string& text) {
  std::optional<FieldValue> value;
  std::string expected;
  if (IsTimestamp(field)) {
    value = ParsedTime<google::protobuf::Timestamp>(text);
    expected = "a time such as \"2026-01-31T12:00:00Z\"";
  } else if (IsDuration(field)) {
    value = ParsedTime<google::protobuf::Duration>(text);
    expected = "a duration such as \"1.5s\"";
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    value = text;
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    if (text == "true" || text == "false") value = static_cast<long double>(text == "true");
    expected = "true or false";
  } else if (field.enum_type() != nullptr) {
    const auto* const found = field.enum_type()->FindValueByName(text);
    if (found != nullptr) value = static_cast<long double>(found->number());
    expected = fmt::format("one of {}", fmt::join(EnumeratorNames(*field.enum_type()), ", "));
  } else {
    value = ParsedNumber(text);
    expected = "a number";
  }
  if (value) return *std::move(value);
  return InvalidFilter(fmt::format("{}: expected {}, found \"{}\"", field.name(), expected, text));
}

}  // namespace

struct ListFilter::Node {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kCompare, kPresent };
  Kind kind = Kind::kAnd;
  std::vector<std::unique_ptr<const Node>> parts = {};  // operands of kAnd, kOr and kNot
  FieldPath path = {};
  size_t field = 0;  // index in ListFilter::fields_
  Comparison comparison = Comparison::kEqual;
  FieldValue value = {};

  // The result is unknown if `left` becomes 0. `of_field` counts the comparisons by field.
  bool Matches(const Message& message, uint64_t& left, std::vector<uint64_t>& of_field) const {
    const auto matches = [&](const auto& part) { return part->Matches(message, left, of_field); };
    switch (kind) {
      case Kind::kAnd:
        return std::ranges::all_of(parts, matches);
      case Kind::kOr:
        return std::ranges::any_of(parts, matches);
      case Kind::kNot:
        return !matches(parts.front());
      case Kind::kPresent:
      case Kind::kCompare:
        break;
    }
    const uint64_t before = left;
    const bool is_any = AnyValue(
        message, path,
        [&](const FieldValue& one) {
          return kind == Kind::kPresent ? IsNotEmpty(one) : Compare(one, comparison, value);
        },
        left);
    of_field[field] += before - left;
    // A value that does not exist differs from every value.
    return comparison == Comparison::kNotEqual ? !is_any : is_any;
  }
};

namespace {

using Node = ListFilter::Node;
using NodePtr = std::unique_ptr<const Node>;

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kQuoted, kOperator, kOpen, kClose };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t at = 0;                   // offset in the filter
  std::vector<size_t> stars = {};  // offsets in `text` of each * that is not escaped
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Recursive descent: expression = sequence {AND sequence}; sequence = factor {factor};
// factor = term {OR term}; term = [NOT | -] (restriction | "(" expression ")").
class FilterParser {
 public:
  FilterParser(std::string_view text, const Descriptor& type) : text_(text), type_(type) {}

  ServiceResult<NodePtr> Run() {
    if (text_.size() > kLongestFilter) {
      return InvalidFilter(fmt::format("longer than {} bytes", kLongestFilter));
    }
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    auto all = Expression(0);
    if (all && token_.kind != Token::Kind::kEnd) return Unexpected("AND, OR or the end");
    return all;
  }

  std::vector<std::string> TakeFields() { return std::move(fields_); }

 private:
  tl::unexpected<ServiceError> Unexpected(std::string_view expected) const {
    return InvalidFilter(fmt::format(
        "at byte {}: expected {}, found {}", token_.at, expected,
        token_.kind == Token::Kind::kEnd ? "the end" : fmt::format("\"{}\"", token_.text)));
  }

  // Reads the next token. A value, unlike the name of a field, may contain the characters of
  // operators: leaf1:Ethernet0.
  ServiceStatus Next(bool is_value = false) {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
    token_ = {.at = at_};
    if (at_ == text_.size()) return {};
    const char c = text_[at_];
    if (c == '"' || c == '\'') return Quoted(c);
    if (c == '(' || c == ')') {
      token_.kind = c == '(' ? Token::Kind::kOpen : Token::Kind::kClose;
      token_.text = text_[at_++];
      return {};
    }
    constexpr std::string_view kOperators = "=<>:!~";
    if (kOperators.find(c) != std::string_view::npos) {
      token_.kind = Token::Kind::kOperator;
      token_.text = text_[at_++];
      const bool has_two = at_ < text_.size() && text_[at_] == '=' && c != '=' && c != ':';
      if (has_two) token_.text += text_[at_++];
      return {};
    }
    token_.kind = Token::Kind::kWord;
    while (at_ < text_.size() && !IsBlank(text_[at_]) && text_[at_] != '(' && text_[at_] != ')' &&
           (is_value || kOperators.find(text_[at_]) == std::string_view::npos)) {
      if (text_[at_] == '*') token_.stars.push_back(token_.text.size());
      token_.text += text_[at_++];
    }
    return {};
  }

  ServiceStatus Quoted(char quote) {
    token_.kind = Token::Kind::kQuoted;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '*') token_.stars.push_back(token_.text.size());
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      token_.text += text_[at_];
    }
    if (at_ == text_.size()) {
      return InvalidFilter(fmt::format("at byte {}: the quote is not closed", token_.at));
    }
    ++at_;
    return {};
  }

  bool IsWord(std::string_view word) const {
    return token_.kind == Token::Kind::kWord && token_.text == word;
  }
  bool StartsTerm() const {
    return token_.kind == Token::Kind::kOpen ||
           (token_.kind == Token::Kind::kWord && !IsWord("AND") && !IsWord("OR"));
  }

  static NodePtr Join(Node::Kind kind, std::vector<NodePtr> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    return std::make_unique<const Node>(Node{.kind = kind, .parts = std::move(parts)});
  }

  ServiceResult<NodePtr> Expression(int depth) {
    std::vector<NodePtr> parts;
    while (true) {
      auto part = Factor(depth);
      if (!part) return part;
      parts.push_back(*std::move(part));
      if (IsWord("AND")) {
        if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
      } else if (!StartsTerm()) {
        return Join(Node::Kind::kAnd, std::move(parts));
      }
    }
  }

  ServiceResult<NodePtr> Factor(int depth) {
    std::vector<NodePtr> parts;
    while (true) {
      auto part = Term(depth);
      if (!part) return part;
      parts.push_back(*std::move(part));
      if (!IsWord("OR")) return Join(Node::Kind::kOr, std::move(parts));
      if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    }
  }

  ServiceResult<NodePtr> Term(int depth) {
    if (depth > kDeepestFilter) {
      return InvalidFilter(fmt::format("more than {} nested conditions", kDeepestFilter));
    }
    const bool has_minus = token_.kind == Token::Kind::kWord && token_.text.starts_with('-');
    if (IsWord("NOT") || has_minus) {
      if (has_minus && token_.text.size() > 1) {
        token_.text.erase(0, 1);
      } else if (const ServiceStatus read = Next(); !read) {
        return tl::unexpected(read.error());
      }
      auto part = Term(depth + 1);
      if (!part) return part;
      Node node{.kind = Node::Kind::kNot};
      node.parts.push_back(*std::move(part));
      return std::make_unique<const Node>(std::move(node));
    }
    if (token_.kind != Token::Kind::kOpen) return Restriction();
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    auto inner = Expression(depth + 1);
    if (!inner) return inner;
    if (token_.kind != Token::Kind::kClose) return Unexpected("\")\"");
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    return inner;
  }

  ServiceResult<NodePtr> Restriction() {
    if (++conditions_ > kMostConditions) {
      return InvalidFilter(fmt::format("more than {} conditions", kMostConditions));
    }
    if (token_.kind != Token::Kind::kWord) return Unexpected("the name of a field");
    auto path = ResolvePath(token_.text, type_, "filter");
    if (!path) return tl::unexpected(path.error());
    const auto index =
        static_cast<size_t>(std::ranges::find(fields_, token_.text) - fields_.begin());
    if (index == fields_.size()) fields_.push_back(token_.text);
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    const auto comparison = ComparisonOf(token_);
    if (!comparison) return Unexpected("one of = != < <= > >= :");
    if (const ServiceStatus read = Next(true); !read) return tl::unexpected(read.error());
    if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kQuoted) {
      return Unexpected("a value");
    }
    Node node{.kind = Node::Kind::kCompare,
              .path = *std::move(path),
              .field = index,
              .comparison = *comparison};
    const FieldDescriptor& field = *node.path.back();
    const bool has_order =
        field.enum_type() == nullptr && field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL;
    if (!has_order && *comparison != Comparison::kEqual && *comparison != Comparison::kNotEqual &&
        *comparison != Comparison::kHas) {
      return InvalidFilter(fmt::format("{}: expected = or !=", field.name()));
    }
    if (*comparison == Comparison::kHas && IsWord("*")) {
      node.kind = Node::Kind::kPresent;
    } else if (!IsValue(field)) {
      return InvalidFilter(
          fmt::format("{} is a message: name one of its fields, or use {}:* "
                      "to select elements that have it",
                      field.name(), field.name()));
    } else {
      auto value = ParseValue(field, token_.text);
      if (!value) return tl::unexpected(value.error());
      node.value = *std::move(value);
      if (const ServiceStatus read = ReadStars(node); !read) return tl::unexpected(read.error());
    }
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    const bool is_negated = node.comparison != *comparison && *comparison == Comparison::kNotEqual;
    auto made = std::make_unique<const Node>(std::move(node));
    if (is_negated) {
      Node negation{.kind = Node::Kind::kNot};
      negation.parts.push_back(std::move(made));
      made = std::make_unique<const Node>(std::move(negation));
    }
    return made;
  }

  // After = and !=, a * at the start or the end of a text matches any characters (AIP-160).
  // Replaces the comparison of such a node by one without negation.
  ServiceStatus ReadStars(Node& node) const {
    auto* const text = std::get_if<std::string>(&node.value);
    const bool is_equality =
        node.comparison == Comparison::kEqual || node.comparison == Comparison::kNotEqual;
    if (text == nullptr || !is_equality || token_.stars.empty()) return {};
    const bool starts = token_.stars.front() == 0;
    const bool ends = token_.stars.back() + 1 == text->size();
    if (token_.stars.size() > size_t{starts} + size_t{ends}) {
      return InvalidFilter(
          fmt::format("at byte {}: * matches any characters only at the start or the end of a "
                      "text; in quotes, \\* is the character *",
                      token_.at));
    }
    if (starts) text->erase(0, 1);
    if (ends && !text->empty()) text->pop_back();
    node.comparison = starts && ends ? Comparison::kHas
                      : starts       ? Comparison::kEndsWith
                                     : Comparison::kStartsWith;
    return {};
  }

  static std::optional<Comparison> ComparisonOf(const Token& token) {
    if (token.kind != Token::Kind::kOperator) return std::nullopt;
    if (token.text == "=") return Comparison::kEqual;
    if (token.text == "!=") return Comparison::kNotEqual;
    if (token.text == "<") return Comparison::kLess;
    if (token.text == "<=") return Comparison::kAtMost;
    if (token.text == ">") return Comparison::kGreater;
    if (token.text == ">=") return Comparison::kAtLeast;
    if (token.text == ":") return Comparison::kHas;
    return std::nullopt;
  }

  const std::string_view text_;
  const Descriptor& type_;
  size_t at_ = 0;
  size_t conditions_ = 0;
  std::vector<std::string> fields_;  // as ListFilter::fields_
  Token token_;
};

}  // namespace

ListFilter::ListFilter() = default;
ListFilter::~ListFilter() = default;
ListFilter::ListFilter(ListFilter&&) noexcept = default;
ListFilter& ListFilter::operator=(ListFilter&&) noexcept = default;

ServiceResult<ListFilter> ListFilter::Parse(std::string_view text, const Descriptor& type) {
  ListFilter filter;
  if (std::ranges::all_of(text, IsBlank)) return filter;
  FilterParser parser(text, type);
  auto root = parser.Run();
  if (!root) return tl::unexpected(root.error());
  filter.root_ = *std::move(root);
  filter.fields_ = parser.TakeFields();
  return filter;
}

ServiceResult<bool> ListFilter::Matches(const Message& message, FilterWork& work) const {
  if (root_ == nullptr) return true;
  work.of_field_.resize(fields_.size());
  const bool matches = root_->Matches(message, work.left_, work.of_field_);
  if (work.left_ > 0) return matches;
  const auto most = std::ranges::max_element(work.of_field_) - work.of_field_.begin();
  auto refused = InvalidFilter(fmt::format(
      "takes more than {} comparisons with values of this list, most of them with values of {}: "
      "use fewer conditions on it, or conditions on a field with fewer values",
      WithThousands(work.most_), fields_[static_cast<size_t>(most)]));
  refused.value().fault = ServiceFault::kTooLong;
  return refused;
}

}  // namespace rocescope

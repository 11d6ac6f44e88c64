// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/list_filter.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "appliance/api/message_value.h"
#include "base/nearest.h"

namespace rocescope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DynamicCastToGenerated;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

using Value = ListOrder::SortValue::value_type;

bool IsTimestamp(const FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type()->full_name() == "google.protobuf.Timestamp";
}
bool IsDuration(const FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type()->full_name() == "google.protobuf.Duration";
}
bool IsValue(const FieldDescriptor& field) {
  return field.message_type() == nullptr || IsTimestamp(field) || IsDuration(field);
}

Value ValueOf(const Message& message) {
  if (const auto* time = DynamicCastToGenerated<google::protobuf::Timestamp>(&message)) {
    return static_cast<long double>(Nanoseconds(*time));
  }
  const auto* duration = DynamicCastToGenerated<google::protobuf::Duration>(&message);
  return static_cast<long double>(duration == nullptr ? 0 : Nanoseconds(*duration));
}

Value SingleOf(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return static_cast<long double>(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return static_cast<long double>(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<long double>(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<long double>(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return static_cast<long double>(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<long double>(reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return static_cast<long double>(reflection.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return static_cast<long double>(reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ValueOf(reflection.GetMessage(message, &field));
  }
  return std::string();
}

Value ElementOf(const Message& message, const FieldDescriptor& field, int i) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return static_cast<long double>(reflection.GetRepeatedInt32(message, &field, i));
    case FieldDescriptor::CPPTYPE_UINT32:
      return static_cast<long double>(reflection.GetRepeatedUInt32(message, &field, i));
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<long double>(reflection.GetRepeatedInt64(message, &field, i));
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<long double>(reflection.GetRepeatedUInt64(message, &field, i));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return static_cast<long double>(reflection.GetRepeatedDouble(message, &field, i));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<long double>(reflection.GetRepeatedFloat(message, &field, i));
    case FieldDescriptor::CPPTYPE_BOOL:
      return static_cast<long double>(reflection.GetRepeatedBool(message, &field, i));
    case FieldDescriptor::CPPTYPE_ENUM:
      return static_cast<long double>(reflection.GetRepeatedEnumValue(message, &field, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetRepeatedString(message, &field, i);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ValueOf(reflection.GetRepeatedMessage(message, &field, i));
  }
  return std::string();
}

// Returns whether `test` holds for any value at the end of the path. Values of unset messages do
// not exist.
bool AnyValue(const Message& message, const FieldPath& path, size_t at,
              const std::function<bool(const Value&)>& test) {
  const FieldDescriptor& field = *path[at];
  const auto& reflection = *message.GetReflection();
  const bool is_last = at + 1 == path.size();
  if (field.is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      if (is_last
              ? test(ElementOf(message, field, i))
              : AnyValue(reflection.GetRepeatedMessage(message, &field, i), path, at + 1, test)) {
        return true;
      }
    }
    return false;
  }
  if (field.has_presence() && !reflection.HasField(message, &field)) return false;
  return is_last ? test(SingleOf(message, field))
                 : AnyValue(reflection.GetMessage(message, &field), path, at + 1, test);
}

bool IsPresent(const Message& message, const FieldPath& path) {
  return AnyValue(message, path, 0, [](const Value& value) {
    const auto* const text = std::get_if<std::string>(&value);
    return text == nullptr || !text->empty();
  });
}

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kAtMost, kGreater, kAtLeast, kHas };

bool Compare(const Value& value, Comparison comparison, const Value& wanted) {
  switch (comparison) {
    case Comparison::kEqual:
      return value == wanted;
    case Comparison::kLess:
      return value < wanted;
    case Comparison::kAtMost:
      return value <= wanted;
    case Comparison::kGreater:
      return value > wanted;
    case Comparison::kAtLeast:
      return value >= wanted;
    case Comparison::kNotEqual:  // handled by Node::Matches
    case Comparison::kHas:
      break;
  }
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return value == wanted;
  return text->find(std::get<std::string>(wanted)) != std::string::npos;
}

tl::unexpected<ServiceError> Invalid(std::string_view field, const std::string& why) {
  return RefuseFields({field}, why);
}

// Resolves "finding.place". `parameter` is the name in errors.
ServiceResult<FieldPath> ResolvePath(std::string_view text, const Descriptor& type,
                                     std::string_view parameter) {
  FieldPath path;
  const Descriptor* at = &type;
  for (std::string_view rest = text; at != nullptr;) {
    const size_t dot = rest.find('.');
    const std::string name(rest.substr(0, dot));
    const FieldDescriptor* const field = at->FindFieldByName(name);
    if (field == nullptr) {
      std::vector<std::string_view> known;
      for (int i = 0; i < at->field_count(); ++i) known.push_back(at->field(i)->name());
      return Invalid(parameter, fmt::format("{} has no field \"{}\"{}", at->name(), name,
                                            DidYouMean(name, known)));
    }
    path.push_back(field);
    if (dot == std::string_view::npos) return path;
    rest.remove_prefix(dot + 1);
    at = IsValue(*field) ? nullptr : field->message_type();
  }
  return Invalid(parameter, fmt::format("\"{}\": {} is not a message", text, path.back()->name()));
}

template <typename T>
std::optional<Value> ParsedTime(const std::string& text) {
  T message;
  if (!ParseText(text, message)) return std::nullopt;
  return static_cast<long double>(Nanoseconds(message));
}

std::optional<Value> ParsedNumber(const std::string& text) {
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

std::string EnumeratorsOf(const FieldDescriptor& field) {
  std::string names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    names += (i > 0 ? ", " : "") + field.enum_type()->value(i)->name();
  }
  return names;
}

// Parses a value for a field. The error lists what the field accepts.
ServiceResult<Value> ParseValue(const FieldDescriptor& field, const std::string& text) {
  std::optional<Value> value;
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
    expected = "one of " + EnumeratorsOf(field);
  } else {
    value = ParsedNumber(text);
    expected = "a number";
  }
  if (value) return *std::move(value);
  return Invalid("filter",
                 fmt::format("{}: expected {}, found \"{}\"", field.name(), expected, text));
}

}  // namespace

struct ListFilter::Node {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kCompare, kPresent };
  Kind kind = Kind::kAnd;
  std::vector<std::unique_ptr<const Node>> parts = {};  // operands of kAnd, kOr and kNot
  FieldPath path = {};
  Comparison comparison = Comparison::kEqual;
  Value value = {};

  bool Matches(const Message& message) const {
    const auto matches = [&](const auto& part) { return part->Matches(message); };
    switch (kind) {
      case Kind::kAnd:
        return std::ranges::all_of(parts, matches);
      case Kind::kOr:
        return std::ranges::any_of(parts, matches);
      case Kind::kNot:
        return !parts.front()->Matches(message);
      case Kind::kPresent:
        return IsPresent(message, path);
      case Kind::kCompare:
        break;
    }
    // A value that does not exist differs from every value.
    if (comparison == Comparison::kNotEqual) {
      return !AnyValue(message, path, 0, [&](const Value& one) { return one == value; });
    }
    return AnyValue(message, path, 0,
                    [&](const Value& one) { return Compare(one, comparison, value); });
  }
};

namespace {

using Node = ListFilter::Node;
using NodePtr = std::unique_ptr<const Node>;

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kQuoted, kOperator, kOpen, kClose };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t at = 0;  // offset in the filter
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Recursive descent: expression = sequence {AND sequence}; sequence = factor {factor};
// factor = term {OR term}; term = [NOT | -] (restriction | "(" expression ")").
class FilterParser {
 public:
  FilterParser(std::string_view text, const Descriptor& type) : text_(text), type_(type) {}

  ServiceResult<NodePtr> Run() {
    if (text_.size() > kLongestFilter) {
      return Invalid("filter", fmt::format("longer than {} bytes", kLongestFilter));
    }
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    auto all = Expression(0);
    if (all && token_.kind != Token::Kind::kEnd) return Unexpected("AND, OR or the end");
    return all;
  }

 private:
  tl::unexpected<ServiceError> Unexpected(std::string_view expected) const {
    return Invalid("filter", fmt::format("at byte {}: expected {}, found {}", token_.at, expected,
                                         token_.kind == Token::Kind::kEnd
                                             ? "the end"
                                             : fmt::format("\"{}\"", token_.text)));
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
    constexpr std::string_view kOperators = "=<>:!";
    if (kOperators.find(c) != std::string_view::npos && !is_value) {
      token_.kind = Token::Kind::kOperator;
      token_.text = text_[at_++];
      const bool has_two = at_ < text_.size() && text_[at_] == '=' && c != '=' && c != ':';
      if (has_two) token_.text += text_[at_++];
      return {};
    }
    token_.kind = Token::Kind::kWord;
    while (at_ < text_.size() && !IsBlank(text_[at_]) && text_[at_] != '(' && text_[at_] != ')' &&
           (is_value || kOperators.find(text_[at_]) == std::string_view::npos)) {
      token_.text += text_[at_++];
    }
    return {};
  }

  ServiceStatus Quoted(char quote) {
    token_.kind = Token::Kind::kQuoted;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      token_.text += text_[at_];
    }
    if (at_ == text_.size()) {
      return Invalid("filter", fmt::format("at byte {}: the quote is not closed", token_.at));
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
      return Invalid("filter", fmt::format("more than {} nested conditions", kDeepestFilter));
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
      return Invalid("filter", fmt::format("more than {} conditions", kMostConditions));
    }
    if (token_.kind != Token::Kind::kWord) return Unexpected("the name of a field");
    auto path = ResolvePath(token_.text, type_, "filter");
    if (!path) return tl::unexpected(path.error());
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    const auto comparison = ComparisonOf(token_);
    if (!comparison) return Unexpected("one of = != < <= > >= :");
    if (const ServiceStatus read = Next(true); !read) return tl::unexpected(read.error());
    if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kQuoted) {
      return Unexpected("a value");
    }
    Node node{.kind = Node::Kind::kCompare, .path = *std::move(path), .comparison = *comparison};
    const FieldDescriptor& field = *node.path.back();
    const bool has_order =
        field.enum_type() == nullptr && field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL;
    if (!has_order && *comparison != Comparison::kEqual && *comparison != Comparison::kNotEqual &&
        *comparison != Comparison::kHas) {
      return Invalid("filter", fmt::format("{}: expected = or !=", field.name()));
    }
    if (*comparison == Comparison::kHas && IsWord("*")) {
      node.kind = Node::Kind::kPresent;
    } else if (!IsValue(field)) {
      return Invalid("filter", fmt::format("{} is a message: name one of its fields, or use {}:* "
                                           "to select elements that have it",
                                           field.name(), field.name()));
    } else {
      auto value = ParseValue(field, token_.text);
      if (!value) return tl::unexpected(value.error());
      node.value = *std::move(value);
    }
    if (const ServiceStatus read = Next(); !read) return tl::unexpected(read.error());
    return std::make_unique<const Node>(std::move(node));
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
  Token token_;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

ListFilter::ListFilter() = default;
ListFilter::~ListFilter() = default;
ListFilter::ListFilter(ListFilter&&) noexcept = default;
ListFilter& ListFilter::operator=(ListFilter&&) noexcept = default;

ServiceResult<ListFilter> ListFilter::Parse(std::string_view text, const Descriptor& type) {
  ListFilter filter;
  if (Trimmed(text).empty()) return filter;
  auto root = FilterParser(text, type).Run();
  if (!root) return tl::unexpected(root.error());
  filter.root_ = *std::move(root);
  return filter;
}

bool ListFilter::Matches(const Message& message) const {
  return root_ == nullptr || root_->Matches(message);
}

ServiceResult<ListOrder> ListOrder::Parse(std::string_view text, const Descriptor& type) {
  ListOrder order;
  if (text.size() > kLongestFilter) {
    return Invalid("order_by", fmt::format("longer than {} bytes", kLongestFilter));
  }
  for (std::string_view rest = text; !Trimmed(rest).empty();) {
    const size_t comma = rest.find(',');
    std::string_view name = Trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const size_t blank = name.find_first_of(" \t\r\n");
    const std::string_view direction =
        blank == std::string_view::npos ? std::string_view() : Trimmed(name.substr(blank));
    name = name.substr(0, blank);
    if (!direction.empty() && direction != "asc" && direction != "desc") {
      return Invalid("order_by", fmt::format("expected \"asc\" or \"desc\" after {}, found \"{}\"",
                                             name, direction));
    }
    auto path = ResolvePath(name, type, "order_by");
    if (!path) return tl::unexpected(path.error());
    const bool is_single =
        std::ranges::none_of(*path, [](const auto* field) { return field->is_repeated(); });
    if (!is_single || !IsValue(*path->back())) {
      return Invalid("order_by", fmt::format("cannot sort by {}: it is not a single value", name));
    }
    const bool is_known =
        std::ranges::any_of(order.keys_, [&](const Key& key) { return key.path == *path; });
    if (is_known || order.keys_.size() == kMostSortKeys) {
      return Invalid("order_by",
                     fmt::format("expected at most {} different fields", kMostSortKeys));
    }
    order.keys_.push_back({.path = *std::move(path), .is_descending = direction == "desc"});
  }
  return order;
}

ListOrder::Row ListOrder::RowOf(uint64_t index, const Message& message) const {
  Row row = {.index = index};
  for (const Key& key : keys_) {
    AnyValue(message, key.path, 0, [&](const Value& value) {
      row.values.resize(static_cast<size_t>(&key - keys_.data()));
      // NaN would make the order undefined.
      const auto* const number = std::get_if<long double>(&value);
      if (number == nullptr || !std::isnan(*number)) row.values.emplace_back(value);
      return true;
    });
    row.values.resize(static_cast<size_t>(&key - keys_.data()) + 1);
  }
  return row;
}

void ListOrder::Sort(std::vector<Row>& rows) const {
  if (keys_.empty()) return;
  std::ranges::stable_sort(rows, [this](const Row& a, const Row& b) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (a.values[i] == b.values[i]) continue;
      return keys_[i].is_descending ? b.values[i] < a.values[i] : a.values[i] < b.values[i];
    }
    return false;
  });
}

}  // namespace rocescope

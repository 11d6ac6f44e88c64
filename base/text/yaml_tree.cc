// SPDX-License-Identifier: BSD-3-Clause
// Uses yaml-cpp's events, because its own tree accepts duplicate keys, expands aliases and costs
// more.
#include "base/text/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <streambuf>
#include <utility>

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

struct Refused {
  YAML::Mark mark;
  std::string message;
};

uint32_t From1(int from_0) { return static_cast<uint32_t>(std::max(from_0, 0)) + 1; }

void RequireUniqueKeys(const YamlNode& map) {
  std::vector<const YamlNode*> keys;
  for (size_t i = 0; i < map.items.size(); i += 2) keys.push_back(&map.items[i]);
  std::sort(keys.begin(), keys.end(), [](const YamlNode* a, const YamlNode* b) {
    return std::tie(a->text, a->line, a->column) < std::tie(b->text, b->line, b->column);
  });
  const auto at =
      std::adjacent_find(keys.begin(), keys.end(),
                         [](const YamlNode* a, const YamlNode* b) { return a->text == b->text; });
  if (at == keys.end()) return;
  const YamlNode& second = **(at + 1);
  YAML::Mark mark;
  mark.line = static_cast<int>(second.line) - 1;
  mark.column = static_cast<int>(second.column) - 1;
  throw Refused{mark, fmt::format("duplicate key \"{}\"; it is already set in line {}", second.text,
                                  (*at)->line)};
}

// Supplies the text to the parser, without a copy. Inside brackets, and in a line that may be a
// key, yaml-cpp collects all tokens, about 100 bytes each, before it reports the first value. The
// limits on values and levels would then come too late. Therefore this buffer limits how far the
// parser reads ahead of the last value that it reported.
class TextBuffer : public std::streambuf {
 public:
  TextBuffer(std::string_view text, const YamlLimits& limits) : text_(text), limits_(limits) {}

  // The parser has reported a value, so that it no longer holds the tokens before it.
  void ReportValue() {
    indicators_ = 0;
    open_ = 0;
  }

 protected:
  int_type underflow() override {
    // As much as yaml-cpp reads at a time. The first part is too short for a limit to apply: the
    // stream functions that detect the encoding would swallow the exception.
    constexpr size_t kPart = 2048;
    const std::string_view part = text_.substr(used_, kPart);
    if (part.empty()) return traits_type::eof();
    for (size_t i = 0; i < part.size(); ++i) Count(part[i], used_ + i);
    used_ += part.size();
    char* begin = const_cast<char*>(part.data());  // NOLINT: a get area is never written to
    setg(begin, begin, begin + part.size());
    return traits_type::to_int_type(*begin);
  }

 private:
  // More than the flow-style description of 80,000 NICs and their links as one value contains. The
  // number includes characters in strings and comments, because only the parser knows them.
  static constexpr size_t kMostIndicators = size_t{2} << 20;
  // Far more than the permitted levels, because strings and comments may contain brackets, too.
  static constexpr size_t kMostOpen = 4096;

  void Count(char c, size_t at) {
    switch (c) {
      case '[':
      case '{':
        if (++open_ <= kMostOpen) break;
        Refuse(at, fmt::format("more than {} nested levels: {} brackets are open here",
                               limits_.depth, open_));
      case ']':
      case '}':
        if (open_ > 0) --open_;
        break;
      case ',':
      case ':':
      case '?':
      case '"':
      case '\'':
      case '&':
      case '*':
      case '!':
        break;
      default:
        return;
    }
    if (++indicators_ > kMostIndicators) {
      Refuse(at, fmt::format("more than {} indicators such as commas, colons and quotes in one "
                             "line, or in one list or map in brackets: write its items on separate "
                             "lines without brackets",
                             kMostIndicators));
    }
  }

  [[noreturn]] void Refuse(size_t at, std::string message) const {
    const std::string_view before = text_.substr(0, at);
    const std::string_view line = before.substr(before.rfind('\n') + 1);  // from 0 in the first one
    const auto is_first_byte = [](char c) { return (c & 0xc0) != 0x80; };  // of a character
    YAML::Mark mark;
    mark.line = static_cast<int>(std::ranges::count(before, '\n'));
    mark.column = static_cast<int>(std::ranges::count_if(line, is_first_byte));
    throw Refused{mark, std::move(message)};
  }

  std::string_view text_;
  const YamlLimits& limits_;
  size_t used_ = 0;        // bytes given to the parser
  size_t indicators_ = 0;  // since the last value
  size_t open_ = 0;        // brackets that are not closed
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const YamlLimits& limits, TextBuffer& buffer)
      : text_(text), limits_(limits), buffer_(buffer) {}

  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Make(Kind::kNull, mark, "", anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark, "aliases (*name) are not supported; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = Make(Kind::kScalar, mark, tag, anchor);
    node.quoted = tag == "!";
    if (node.quoted) RequireClosed(mark);
    node.text = value;
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Make(Kind::kSequence, mark, tag, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Make(Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override {
    RequireUniqueKeys(open_.back());
    Close();
  }

 private:
  YamlNode Make(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    buffer_.ReportValue();
    if (anchor != 0) throw Refused{mark, "anchors (&name) are not supported; write the value out"};
    // yaml-cpp reports these tags for plain and quoted scalars.
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refused{mark, fmt::format("tags are not supported; found {}", tag)};
    }
    if (++nodes_ > limits_.nodes) {
      throw Refused{mark, fmt::format("more than {} values", limits_.nodes)};
    }
    return {.kind = kind, .line = From1(mark.line), .column = From1(mark.column)};
  }

  // yaml-cpp accepts a quoted scalar that is terminated by the end of the file.
  void RequireClosed(const YAML::Mark& mark) const {
    size_t i = static_cast<size_t>(std::max(mark.pos, 0));
    const char quote = i < text_.size() ? text_[i] : '\0';
    if (quote != '"' && quote != '\'') {
      if (limits_.long_texts) return;
      throw Refused{mark, "a string must be on one line"};
    }
    for (++i; i < text_.size() && (limits_.long_texts || text_[i] != '\n'); ++i) {
      const bool escapes = quote == '"' && text_[i] == '\\';
      const bool doubles = quote == '\'' && text_.substr(i).starts_with("''");
      if (escapes || doubles) {
        ++i;
      } else if (text_[i] == quote) {
        return;
      }
    }
    throw Refused{mark, fmt::format("the quoted string has no closing {}{}", quote,
                                    limits_.long_texts ? "" : " on this line")};
  }

  bool AtKey() const {
    return !open_.empty() && open_.back().kind == Kind::kMap && open_.back().items.size() % 2 == 0;
  }

  void Add(YamlNode node) {
    if (AtKey() && node.kind == Kind::kNull) Refuse(node, "there is no key before the colon");
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
  }

  void Open(YamlNode node) {
    if (AtKey()) Refuse(node, "a key must be a scalar, not a list or a map");
    if (open_.size() >= limits_.depth) {
      Refuse(node, fmt::format("more than {} nested levels", limits_.depth));
    }
    open_.push_back(std::move(node));
  }

  void Close() {
    buffer_.ReportValue();
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    Add(std::move(node));
  }

  [[noreturn]] static void Refuse(const YamlNode& node, std::string message) {
    YAML::Mark mark;
    mark.line = static_cast<int>(node.line) - 1;
    mark.column = static_cast<int>(node.column) - 1;
    throw Refused{mark, std::move(message)};
  }

  std::string_view text_;
  const YamlLimits& limits_;
  TextBuffer& buffer_;
  size_t nodes_ = 0;
  YamlNode root_;
  std::vector<YamlNode> open_;
};

Error At(std::string_view file, const YAML::Mark& mark, std::string_view message) {
  return {
      .code = ErrorCode::kInvalidArgument,
      .message = fmt::format("{}:{}:{}: {}", file, From1(mark.line), From1(mark.column), message)};
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// yaml-cpp reads these, but counts positions in the converted text.
bool IsUtf16Or32(std::string_view text) {
  const auto is_nul = [&](size_t at) { return at < text.size() && text[at] == '\0'; };
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || is_nul(0) || is_nul(1);
}

// yaml-cpp ignores unknown directives, so that a file of a single mistyped line would be empty.
std::optional<YAML::Mark> FindDirective(std::string_view text) {
  YAML::Mark mark;
  while (!text.empty() && (text.front() == '#' || text.front() == '\n' || text.front() == '\r')) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
    ++mark.line;
  }
  if (!text.starts_with('%') || text.starts_with("%YAML ")) return std::nullopt;
  return mark;
}

}  // namespace

Result<YamlNode> ParseYaml(std::string_view text, std::string_view file, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("{}: the file is too large ({} bytes); expected at most "
                                 "{}",
                                 file, text.size(), limits.bytes));
  }
  if (IsUtf16Or32(text)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}:1:1: the file is encoded in UTF-16 or UTF-32: save it in UTF-8", file));
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto directive = FindDirective(text)) {
    return tl::unexpected(
        At(file, *directive, "a line must not start with %: directives are not supported"));
  }
  TextBuffer buffer(text, limits);
  std::istream stream(&buffer);
  try {
    TreeBuilder tree(text, limits, buffer);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(tree)) return YamlNode{};
    YamlNode root = tree.Take();
    TreeBuilder second(text, limits, buffer);
    if (parser.HandleNextDocument(second)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}:{}:{}: a second document starts here; expected one document",
                                   file, second.Take().line, 1));
    }
    return root;
  } catch (const Refused& refused) {
    return tl::unexpected(At(file, refused.mark, refused.message));
  } catch (const YAML::Exception& error) {
    return tl::unexpected(At(file, error.mark, error.msg));
  }
}

}  // namespace rocescope::topology

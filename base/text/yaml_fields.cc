// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/yaml_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/nearest.h"
#include "base/utf8.h"

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

// Describes a node for an error message.
std::string Describe(const YamlNode& node) {
  constexpr size_t kMaxShown = 60;
  switch (node.kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
      break;
  }
  const bool cut = node.text.size() > kMaxShown;
  return fmt::format("\"{}\"{}", std::string_view(node.text).substr(0, kMaxShown),
                     cut ? "..." : "");
}

}  // namespace

void YamlErrors::Add(Place place, std::string_view message) {
  if (full()) return;
  lines_.push_back({.place = place, .text = std::string(message)});
}

Error YamlErrors::Take() {
  const bool was_full = full();
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return std::tie(a.place.line, a.place.column, a.text) <
           std::tie(b.place.line, b.place.column, b.text);
  });
  std::string message;
  for (const Line& line : lines_) {
    if (!message.empty()) message += '\n';
    message += line.place.line == 0 ? fmt::format("{}: {}", file_, line.text)
                                    : fmt::format("{}:{}:{}: {}", file_, line.place.line,
                                                  line.place.column, line.text);
  }
  if (was_full) message += fmt::format("\n{}: more errors may follow", file_);
  lines_.clear();
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

namespace {

// Keys of configurations that were written before version 0.1.0, with their present names.
constexpr std::pair<std::string_view, std::string_view> kRenamedKeys[] = {
    {"most", "max_hosts"},       {"octets_per_second", "max_bytes_per_second"},
    {"most_bytes", "max_bytes"}, {"box", "appliance"},
    {"box_ca", "appliance_ca"},
};

// The present name of a renamed key, if it is one of `keys`; otherwise empty.
std::string_view PresentName(std::string_view key, std::span<const std::string_view> keys) {
  for (const auto& [old_name, name] : kRenamedKeys) {
    if (key == old_name && std::ranges::find(keys, name) != keys.end()) return name;
  }
  return {};
}

}  // namespace

YamlMap::YamlMap(const YamlNode& node, std::string_view what,
                 std::span<const std::string_view> keys, YamlErrors& errors)
    : node_(node), what_(what), errors_(errors) {
  if (node.kind != Kind::kMap) {
    errors.Add(node, fmt::format("expected the keys of {} ({}), found {}", what,
                                 fmt::join(keys, ", "), Describe(node)));
    return;
  }
  for (size_t i = 0; i < node.items.size(); i += 2) {
    const YamlNode& key = node.items[i];
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) continue;
    if (const std::string_view name = PresentName(key.text, keys); !name.empty()) {
      errors.Add(key,
                 fmt::format("key {} of {} was renamed: use \"{}\"", Describe(key), what, name));
      continue;
    }
    const std::string hint = DidYouMean(key.text, keys);
    errors.Add(key, fmt::format("unknown key {} of {}{}{}", Describe(key), what,
                                hint.empty() ? "; expected one of " : hint,
                                hint.empty() ? fmt::format("{}", fmt::join(keys, ", ")) : ""));
  }
}

const YamlNode* YamlMap::Find(std::string_view key) const {
  if (node_.kind != Kind::kMap) return nullptr;
  for (size_t i = 0; i < node_.items.size(); i += 2) {
    if (node_.items[i].text == key) return &node_.items[i + 1];
  }
  return nullptr;
}

const YamlNode* YamlMap::Require(std::string_view key) const {
  const YamlNode* value = Find(key);
  if (value == nullptr && node_.kind == Kind::kMap) {
    errors_.Add(node_, fmt::format("the key \"{}\" of {} is missing", key, what_));
  }
  return value;
}

std::optional<std::string_view> ReadText(const YamlNode& node, YamlErrors& errors) {
  if (node.kind == Kind::kScalar) return node.text;
  errors.Add(node, fmt::format("expected a scalar, found {}", Describe(node)));
  return std::nullopt;
}

namespace {

char32_t CodePointOf(std::string_view sequence) {
  const auto lead = static_cast<uint8_t>(sequence[0]);
  const size_t length = sequence.size();
  char32_t code = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i)
    code = code << 6 | (static_cast<uint8_t>(sequence[i]) & 0x3fu);
  return code;
}

// C0, DEL and C1; line and paragraph separators; Bidi_Control in Unicode's PropList; U+FEFF.
bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::optional<std::string_view> ReadName(const YamlNode& node, size_t longest, YamlErrors& errors) {
  const std::optional<std::string_view> text = ReadText(node, errors);
  if (!text) return std::nullopt;
  if (text->empty() || text->size() > longest) {
    errors.Add(
        node, fmt::format("a name must have 1 to {} bytes, found {} bytes", longest, text->size()));
    return std::nullopt;
  }
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t length = Utf8Length(rest);
    if (length == 0) {
      errors.Add(node, fmt::format("byte {} of the name is not valid UTF-8: save the file in UTF-8",
                                   text->size() - rest.size() + 1));
      return std::nullopt;
    }
    if (const char32_t code = CodePointOf(rest.substr(0, length)); IsControl(code)) {
      errors.Add(node, fmt::format("the name contains the control character U+{:04X}: remove it",
                                   static_cast<uint32_t>(code)));
      return std::nullopt;
    }
    rest.remove_prefix(length);
  }
  return text;
}

std::optional<uint64_t> ParseWholeNumber(std::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

std::optional<uint64_t> ReadNumber(const YamlNode& node, uint64_t least, uint64_t most,
                                   YamlErrors& errors) {
  if (node.kind == Kind::kScalar) {
    if (const auto value = ParseWholeNumber(node.text, least, most)) return value;
  }
  errors.Add(node, fmt::format("expected a whole number from {} to {}, found {}", least, most,
                               Describe(node)));
  return std::nullopt;
}

std::optional<bool> ReadBool(const YamlNode& node, YamlErrors& errors) {
  if (node.kind == Kind::kScalar && node.text == "true") return true;
  if (node.kind == Kind::kScalar && node.text == "false") return false;
  errors.Add(node, fmt::format("expected true or false, found {}", Describe(node)));
  return std::nullopt;
}

std::optional<size_t> ReadChoice(const YamlNode& node, std::span<const std::string_view> words,
                                 YamlErrors& errors) {
  if (node.kind == Kind::kScalar) {
    const auto at = std::find(words.begin(), words.end(), node.text);
    if (at != words.end()) return static_cast<size_t>(at - words.begin());
  }
  const std::string hint =
      node.kind == Kind::kScalar ? DidYouMean(node.text, words) : std::string();
  errors.Add(node,
             fmt::format("expected {}, found {}{}", fmt::join(words, ", "), Describe(node), hint));
  return std::nullopt;
}

std::span<const YamlNode> ReadList(const YamlNode& node, YamlErrors& errors) {
  if (node.kind == Kind::kSequence) return node.items;
  errors.Add(node, fmt::format("expected a list, found {}", Describe(node)));
  return {};
}

}  // namespace rocescope::topology

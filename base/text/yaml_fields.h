// SPDX-License-Identifier: BSD-3-Clause
// Reads values from a YAML tree, strictly. Each reader adds an error with position and expected
// value to a list and continues, so that all errors of a file are reported at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/yaml_tree.h"

namespace rocescope::topology {

struct Place {
  uint32_t line = 0;  // 0: unknown position
  uint32_t column = 0;
};
inline Place PlaceOf(const YamlNode& node) { return {.line = node.line, .column = node.column}; }

class YamlErrors {
 public:
  static constexpr size_t kMost = 20;  // further errors are not reported

  explicit YamlErrors(std::string file) : file_(std::move(file)) {}

  void Add(Place place, std::string_view message);
  void Add(const YamlNode& node, std::string_view message) { Add(PlaceOf(node), message); }

  bool empty() const { return lines_.empty(); }
  // Check this regularly: once it is true, further reading is useless.
  bool full() const { return lines_.size() >= kMost; }
  // Returns "FILE:LINE:COLUMN: what is wrong", one per line, sorted by position.
  Error Take();

 private:
  struct Line {
    Place place;
    std::string text;
  };
  std::string file_;
  std::vector<Line> lines_;
};

// A map with known keys. Any other key is an error that suggests the most similar known key.
class YamlMap {
 public:
  // `what` completes the phrase "... of WHAT" in errors.
  YamlMap(const YamlNode& node, std::string_view what, std::span<const std::string_view> keys,
          YamlErrors& errors);
  YamlMap(const YamlNode& node, std::string_view what, std::initializer_list<std::string_view> keys,
          YamlErrors& errors)
      : YamlMap(node, what, std::span(keys.begin(), keys.size()), errors) {}

  // Returns nullptr if the key is missing.
  const YamlNode* Find(std::string_view key) const;
  // Like Find, but a missing key is an error.
  const YamlNode* Require(std::string_view key) const;

  const YamlNode& node() const { return node_; }

 private:
  const YamlNode& node_;
  std::string_view what_;
  YamlErrors& errors_;
};

// The readers return nullopt after an error if the node has another type.
std::optional<std::string_view> ReadText(const YamlNode& node, YamlErrors& errors);
// A text that terminals and reports show: 1 to `longest` bytes of UTF-8 without control characters,
// such as line breaks and characters that change the text direction.
std::optional<std::string_view> ReadName(const YamlNode& node, size_t longest, YamlErrors& errors);
std::optional<uint64_t> ReadNumber(const YamlNode& node, uint64_t least, uint64_t most,
                                   YamlErrors& errors);
std::optional<bool> ReadBool(const YamlNode& node, YamlErrors& errors);  // true or false
// Returns the index of the node's value in `words`.
std::optional<size_t> ReadChoice(const YamlNode& node, std::span<const std::string_view> words,
                                 YamlErrors& errors);
// Returns the items of a list; empty after an error if the node is not a list.
std::span<const YamlNode> ReadList(const YamlNode& node, YamlErrors& errors);

// Parses a text with a function that returns a Result, for example those of quantity.h.
template <typename Parse>
auto ReadParsed(const YamlNode& node, Parse parse, YamlErrors& errors)
    -> std::optional<typename decltype(parse(std::string_view()))::value_type> {
  const std::optional<std::string_view> text = ReadText(node, errors);
  if (!text) return std::nullopt;
  auto value = parse(*text);
  if (value) return *std::move(value);
  errors.Add(node, value.error().message);
  return std::nullopt;
}

// Parses a whole number without a sign in [least, most].
std::optional<uint64_t> ParseWholeNumber(std::string_view text, uint64_t least, uint64_t most);

}  // namespace rocescope::topology

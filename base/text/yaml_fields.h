// SPDX-License-Identifier: BSD-3-Clause
// Reads values out of a YAML tree, strictly: each reader says what it expected and where, notes
// that in a list, and goes on, so that a file's mistakes are told at once and not one by one.
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
  uint32_t line = 0;  // 0: nowhere
  uint32_t column = 0;
};
inline Place PlaceOf(const YamlNode& node) { return {.line = node.line, .column = node.column}; }

class YamlErrors {
 public:
  static constexpr size_t kMost = 20;  // the rest is not worth telling

  explicit YamlErrors(std::string file) : file_(std::move(file)) {}

  void Add(Place place, std::string_view message);
  void Add(const YamlNode& node, std::string_view message) { Add(PlaceOf(node), message); }

  bool empty() const { return lines_.empty(); }
  // To be asked now and then: after it, what is read is thrown away.
  bool full() const { return lines_.size() >= kMost; }
  // "FILE:LINE:COLUMN: what is wrong", one a line, in the order of their places.
  Error Take();

 private:
  struct Line {
    Place place;
    std::string text;
  };
  std::string file_;
  std::vector<Line> lines_;
};

// A map whose keys are known. Any other key is an error that names the nearest one.
class YamlMap {
 public:
  // `what` completes the sentence "... of WHAT".
  YamlMap(const YamlNode& node, std::string_view what, std::span<const std::string_view> keys,
          YamlErrors& errors);
  YamlMap(const YamlNode& node, std::string_view what, std::initializer_list<std::string_view> keys,
          YamlErrors& errors)
      : YamlMap(node, what, std::span(keys.begin(), keys.size()), errors) {}

  // nullptr: it is not there.
  const YamlNode* Find(std::string_view key) const;
  // The same, and an error if it is not there.
  const YamlNode* Require(std::string_view key) const;

  const YamlNode& node() const { return node_; }

 private:
  const YamlNode& node_;
  std::string_view what_;
  YamlErrors& errors_;
};

// nullopt, after an error, where the node is something else.
std::optional<std::string_view> ReadText(const YamlNode& node, YamlErrors& errors);
std::optional<uint64_t> ReadNumber(const YamlNode& node, uint64_t least, uint64_t most,
                                   YamlErrors& errors);
std::optional<bool> ReadBool(const YamlNode& node, YamlErrors& errors);  // true or false
// The place in `words` of the one that stands there.
std::optional<size_t> ReadChoice(const YamlNode& node, std::span<const std::string_view> words,
                                 YamlErrors& errors);
// A list's items; a single error and none where it is no list.
std::span<const YamlNode> ReadList(const YamlNode& node, YamlErrors& errors);

// Of a text by one of quantity.h's parsers or another that returns a Result.
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

// Whole, without sign, in [least, most].
std::optional<uint64_t> ParseWholeNumber(std::string_view text, uint64_t least, uint64_t most);

}  // namespace rocescope::topology

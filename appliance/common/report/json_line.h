// SPDX-License-Identifier: BSD-3-Clause
// Writes one JSON object into a buffer, key by key, without building a tree first, so that `decode`
// can print captures as fast as it reads them.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

// Appends `text` as a quoted JSON string. Bytes that are not valid UTF-8 (from file names or
// damaged logs) become U+FFFD, so the output stays valid JSON. All control characters, including
// C1, are written as escapes such as \u001b.
void AppendJsonString(fmt::memory_buffer& out, std::string_view text);
void AppendJsonString(std::string& out, std::string_view text);

// Keys are literals in this program and are not escaped. Write 64-bit values with Text64: most JSON
// readers lose digits beyond 2^53.
class JsonLine {
 public:
  explicit JsonLine(fmt::memory_buffer& out) : out_(out) { Open('{'); }

  void BeginObject(std::string_view key) {
    Key(key);
    Open('{');
  }
  void EndObject() { Close('}'); }
  void BeginArray(std::string_view key) {
    Key(key);
    Open('[');
  }
  void EndArray() { Close(']'); }
  // Begins an object in an array; EndObject closes it.
  void BeginElement() {
    Separate();
    Open('{');
  }

  void Number(std::string_view key, std::unsigned_integral auto value) {
    Key(key);
    AppendNumber(value);
  }
  void Element(std::unsigned_integral auto value) {
    Separate();
    AppendNumber(value);
  }
  void Bool(std::string_view key, bool value) {
    Key(key);
    Append(value ? "true" : "false");
  }
  void Text(std::string_view key, std::string_view value) {
    Key(key);
    AppendJsonString(out_, value);
  }
  void Text64(std::string_view key, std::integral auto value) {
    Key(key);
    out_.push_back('"');
    AppendNumber(value);
    out_.push_back('"');
  }

  // Closes the outermost object and ends the line.
  void Finish() {
    Close('}');
    out_.push_back('\n');
  }

 private:
  void Append(std::string_view text) { out_.append(text.data(), text.data() + text.size()); }
  void AppendNumber(std::integral auto value) {
    const fmt::format_int digits(value);
    Append({digits.data(), digits.size()});
  }
  void Open(char bracket) {
    out_.push_back(bracket);
    first_ = true;
  }
  void Close(char bracket) {
    out_.push_back(bracket);
    first_ = false;
  }
  void Separate() {
    if (!first_) out_.push_back(',');
    first_ = false;
  }
  void Key(std::string_view key) {
    Separate();
    out_.push_back('"');
    Append(key);
    Append("\":");
  }

  fmt::memory_buffer& out_;
  bool first_ = true;  // The next member is the first of its object or array.
};

}  // namespace rocescope

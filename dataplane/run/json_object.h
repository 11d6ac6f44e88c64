// SPDX-License-Identifier: BSD-3-Clause
// Strict reader of a JSON object: it rejects unknown keys, duplicate keys, and values of the wrong
// type or out of range. Errors give the path of the key and, for an unknown key, the nearest known
// one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

// The error gives line and column.
Result<nlohmann::json> ParseJsonStrictly(std::string_view text);

// Extracts the keys one by one. Finish returns the first error.
class JsonObject {
 public:
  // `path` identifies the object in errors; empty for the outermost object.
  JsonObject(const nlohmann::json& value, std::string path);

  // These return 0, "", false or an empty object if the key is missing or its value is invalid.
  uint64_t Unsigned(std::string_view key, uint64_t least, uint64_t most);
  double Number(std::string_view key);  // must be finite
  bool Bool(std::string_view key);
  std::string Text(std::string_view key, size_t longest);  // must not be empty
  JsonObject Object(std::string_view key);

  // The same for optional keys.
  bool Has(std::string_view key);
  // Returns all keys, for an object with arbitrary keys. They count as known afterwards.
  std::vector<std::string> Keys();

  // Reports an error that the caller found.
  void Fail(std::string message);
  // Takes over the error of a nested object.
  void Adopt(JsonObject& inner);

  // Returns the first error, or an error if unknown keys are left.
  Status Finish();

 private:
  const nlohmann::json* Find(std::string_view key);
  std::string PathOf(std::string_view key) const;

  const nlohmann::json* value_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<std::string> failure_;
};

}  // namespace rocescope

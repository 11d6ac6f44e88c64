// SPDX-License-Identifier: BSD-3-Clause
// Reads a JSON object strictly: every key must be known, every value of its kind and within bounds,
// no key there twice. Errors name the key by its path and, where it is unknown, the nearest one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

// The error names line and column.
Result<nlohmann::json> ParseJsonStrictly(std::string_view text);

// Takes keys one after the other; the first thing that is wrong is the error that Finish returns.
class JsonObject {
 public:
  // `path` names the object in errors; empty for the outermost.
  JsonObject(const nlohmann::json& value, std::string path);

  // 0, "", false or an empty object where it is not there or not such a value.
  uint64_t Unsigned(std::string_view key, uint64_t least, uint64_t most);
  double Number(std::string_view key);  // finite
  bool Bool(std::string_view key);
  std::string Text(std::string_view key, size_t longest);  // of 1 octet or more
  JsonObject Object(std::string_view key);

  // The same for keys that may be missing.
  bool Has(std::string_view key);
  // All keys, for an object whose keys are not known here; they then count as known.
  std::vector<std::string> Keys();

  // Something is wrong that only the caller sees.
  void Fail(std::string message);
  // Takes over the failure of an object inside this one.
  void Adopt(JsonObject& inner);

  // Nothing, if all was well and no key is left.
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

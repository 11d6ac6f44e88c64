// SPDX-License-Identifier: BSD-3-Clause
// A strict subset of YAML: one document of maps, lists and scalars, each with its position.
// Features that are unnecessary here and easily abused or mistyped are errors: duplicate keys,
// anchors, aliases, tags, keys that are not scalars, and further documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope::topology {

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  bool quoted = false;  // a scalar in quotes
  uint32_t line = 1;    // start, from 1
  uint32_t column = 1;  // start, in characters from 1
  std::string text;     // of a scalar
  // The items of a sequence; for a map: key, value, key, value...
  std::vector<YamlNode> items;
};

struct YamlLimits {
  size_t bytes = size_t{64} << 20;
  size_t nodes = size_t{8} << 20;
  size_t depth = 32;
  bool long_texts = false;  // allow multi-line scalars, as in files of other programs
};

// The text is UTF-8, with or without a byte order mark. An empty text gives a null node. The error
// has the form "FILE:LINE:COLUMN: what is wrong".
Result<YamlNode> ParseYaml(std::string_view text, std::string_view file,
                           const YamlLimits& limits = {});

}  // namespace rocescope::topology

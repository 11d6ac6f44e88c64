// SPDX-License-Identifier: BSD-3-Clause
// YAML without its surprises: one document of maps, lists and scalars, each with its place. What is
// not needed to describe things, and can be abused or mistyped unseen, is an error: a key that
// stands twice in a map, anchors and aliases, tags, keys that are no scalars, a second document.
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
  uint32_t line = 1;    // of its beginning, from 1
  uint32_t column = 1;  // in characters, from 1
  std::string text;     // of a scalar
  // A sequence's items; of a map key, value, key, value...
  std::vector<YamlNode> items;
};

struct YamlLimits {
  size_t bytes = size_t{64} << 20;
  size_t nodes = size_t{8} << 20;
  size_t depth = 32;
  bool long_texts = false;  // texts may go over several lines, as in files of other programs
};

// An empty text is a null node. The error is "FILE:LINE:COLUMN: what is wrong".
Result<YamlNode> ParseYaml(std::string_view text, std::string_view file,
                           const YamlLimits& limits = {});

}  // namespace rocescope::topology

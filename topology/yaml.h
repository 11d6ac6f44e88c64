// SPDX-License-Identifier: BSD-3-Clause
// A fabric as its operator describes it, in YAML; topology/README.md has the schema.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/fabric.h"
#include "base/text/yaml_tree.h"

namespace rocescope::topology {

// `file` names the text in errors: "FILE:LINE:COLUMN: what is wrong, and what was expected", one a
// line, at most YamlErrors::kMost of them. Strict: an unknown or doubled key is an error.
Result<Fabric> LoadFabric(std::string_view text, std::string_view file);

// The same of a node of a larger document, of which `file` is the name.
Result<Fabric> ReadFabric(const YamlNode& node, std::string_view file);

// What LoadFabric turns into the same fabric again: switches first and then hosts, else all parts
// in their order. Like parts stand together in ranges of names ("host[0-127]").
std::string WriteFabric(const Fabric& fabric);

}  // namespace rocescope::topology

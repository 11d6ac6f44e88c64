// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes fabrics as YAML; topology/README.md has the schema.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text/yaml_tree.h"
#include "topology/fabric.h"

namespace rocescope::topology {

// `file` names the text in errors, which have the form "FILE:LINE:COLUMN: what is wrong, and what
// was expected", one per line, at most YamlErrors::kMost. Strict: unknown or duplicate keys are
// errors.
Result<Fabric> LoadFabric(std::string_view text, std::string_view file);

// Reads a fabric from a node of a larger document named `file`.
Result<Fabric> ReadFabric(const YamlNode& node, std::string_view file);

// Returns text that LoadFabric reads as the same fabric. Switches come before hosts; otherwise all
// parts keep their order. Similar parts are combined in name ranges ("host[0-127]").
std::string WriteFabric(const Fabric& fabric);

}  // namespace rocescope::topology

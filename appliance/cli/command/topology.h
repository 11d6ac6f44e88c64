// SPDX-License-Identifier: BSD-3-Clause
// `rocescope topology`: generates, validates, converts and shows fabrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topology/convert/convert.h"
#include "topology/generate.h"

namespace rocescope {

enum class TopologyFormat : uint8_t { kYaml, kText, kJson, kDot };

// All functions print to standard output and messages to standard error. They return an ExitCode:
// kExitUsage if numbers do not describe a fabric, kExitUnreadable if a file does not. A file named
// "-" is standard input.
int RunTopologyGenerate(const topology::Blueprint& plan, TopologyFormat format);

int RunTopologyValidate(const std::string& file, TopologyFormat format);

struct TopologyConvertOptions {
  std::string file;
  std::optional<topology::Format> from;  // default: derived from the file name
  topology::ConvertOptions assume;
};
int RunTopologyConvert(const TopologyConvertOptions& options, TopologyFormat format);

// Prints Slurm's topology.conf.
int RunTopologyExport(const std::string& file);

struct TopologyShowOptions {
  std::string file;
  std::string from;  // HOST:DEVICE; both or none
  std::string to;
};
int RunTopologyShow(const TopologyShowOptions& options, TopologyFormat format);

}  // namespace rocescope

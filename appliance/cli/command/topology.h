// SPDX-License-Identifier: BSD-3-Clause
// `rocescope topology`: what a fabric is, made, checked, converted and shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topology/convert/convert.h"
#include "topology/generate.h"

namespace rocescope {

enum class TopologyFormat : uint8_t { kYaml, kText, kJson, kDot };

// All print to standard output, messages to standard error, and return an ExitCode: kExitUsage
// where numbers do not make a fabric, kExitUnreadable where a file does not. A file named "-" is
// standard input.
int RunTopologyGenerate(const topology::Blueprint& plan, TopologyFormat format);

int RunTopologyValidate(const std::string& file, TopologyFormat format);

struct TopologyConvertOptions {
  std::string file;
  std::optional<topology::Format> from;  // by the file's name if not said
  topology::ConvertOptions assume;
};
int RunTopologyConvert(const TopologyConvertOptions& options, TopologyFormat format);

// Slurm's topology.conf.
int RunTopologyExport(const std::string& file);

struct TopologyShowOptions {
  std::string file;
  std::string from;  // HOST:NIC; both or none
  std::string to;
};
int RunTopologyShow(const TopologyShowOptions& options, TopologyFormat format);

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
// GPUs that NVIDIA's driver lists in /proc/driver/nvidia/gpus/*/information.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

struct GpuInformation {
  uint32_t minor = 0;  // number of /dev/nvidiaMINOR
  std::string pci;     // "0000:1b:00.0"
  std::string uuid;    // "GPU-..."
  std::string model;

  friend bool operator==(const GpuInformation&, const GpuInformation&) = default;
};

// Parses one such file. None if it has no bus location.
std::optional<GpuInformation> ParseGpuInformation(std::string_view text);

// All GPUs, ordered by PCI address.
std::vector<GpuInformation> ReadGpus(const std::string& root);

}  // namespace rocescope

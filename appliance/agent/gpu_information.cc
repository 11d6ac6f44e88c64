// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/gpu_information.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/agent/small_file.h"

namespace rocescope {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

std::optional<GpuInformation> ParseGpuInformation(std::string_view text) {
  GpuInformation gpu;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = Trimmed(line.substr(0, colon));
    const std::string_view value = Trimmed(line.substr(colon + 1));
    if (key == "Model") gpu.model = value;
    if (key == "GPU UUID") gpu.uuid = value;
    if (key == "Bus Location") gpu.pci = value;
    if (key == "Device Minor") {
      constexpr uint64_t kMost = 1u << 20;
      const auto number = ParseDecimal(value);
      if (number && *number < kMost) gpu.minor = static_cast<uint32_t>(*number);
    }
  }
  if (gpu.pci.empty()) return std::nullopt;
  return gpu;
}

std::vector<GpuInformation> ReadGpus(const std::string& root) {
  std::vector<GpuInformation> gpus;
  const std::string all = root + "/proc/driver/nvidia/gpus";
  for (const std::string& name : NamesIn(all)) {
    const auto text = ReadSmallFile(fmt::format("{}/{}/information", all, name));
    auto gpu = text ? ParseGpuInformation(*text) : std::nullopt;
    if (gpu) gpus.push_back(*std::move(gpu));
  }
  std::ranges::sort(gpus, {}, &GpuInformation::pci);
  return gpus;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text/name_range.h"
#include "topology/check.h"

namespace rocescope {
namespace {

bool ParseNumber(std::string_view text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() &&
         number < kMaxGpuNumber;
}

Result<std::vector<uint32_t>> ParseGpus(std::string_view text) {
  std::set<uint32_t> gpus;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    const size_t dash = std::min(part.find('-'), part.size());
    uint32_t first = 0;
    uint32_t last = 0;
    const bool read = ParseNumber(part.substr(0, dash), first) &&
                      ParseNumber(dash == part.size() ? part : part.substr(dash + 1), last);
    if (!read || first > last) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("\"{}\": expected GPU numbers such as 0-3,7, each below {}",
                                   text, kMaxGpuNumber));
    }
    for (uint32_t gpu = first; gpu <= last; ++gpu) gpus.insert(gpu);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return std::vector<uint32_t>(gpus.begin(), gpus.end());
}

std::string GpuText(const std::vector<uint32_t>& gpus) {
  std::string text;
  for (size_t i = 0; i < gpus.size();) {
    size_t end = i + 1;
    while (end < gpus.size() && gpus[end] == gpus[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", gpus[i]);
    if (end - i > 1) text += fmt::format("-{}", gpus[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

Result<std::vector<AllocatedNode>> ParseJobNodes(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::vector<uint32_t> gpus;
  if (colon != std::string_view::npos) {
    auto parsed = ParseGpus(text.substr(colon + 1));
    if (!parsed) return tl::unexpected(parsed.error());
    gpus = *std::move(parsed);
  }
  auto names = topology::ExpandNames(text.substr(0, colon), kMaxJobNodes);
  if (!names) return tl::unexpected(names.error());
  std::vector<AllocatedNode> nodes;
  for (std::string& name : *names) {
    if (!topology::IsNodeName(name)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("\"{}\" is not a valid node name: expected a host list such as "
                                   "gpu-[1-32], or a host list with GPUs such as gpu-[1-4]:0-3",
                                   name));
    }
    nodes.push_back({.name = std::move(name), .gpus = gpus});
  }
  return nodes;
}

std::vector<std::string> WriteJobNodes(std::span<const AllocatedNode> nodes) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < nodes.size();) {
    std::vector<std::string> names;
    size_t end = i;
    for (; end < nodes.size() && nodes[end].gpus == nodes[i].gpus; ++end) {
      names.push_back(nodes[end].name);
    }
    texts.push_back(topology::CompressNames(names));
    if (!nodes[i].gpus.empty()) texts.back() += ":" + GpuText(nodes[i].gpus);
    i = end;
  }
  return texts;
}

}  // namespace rocescope

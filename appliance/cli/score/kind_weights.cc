// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/kind_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/text/yaml_fields.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

Result<double> ParseWeight(std::string_view text) {
  constexpr double kMost = 1e9;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (is_whole && value >= 0 && value <= kMost) return value;
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is not a number from 0 to {}", text, kMost));
}

void ReadKinds(const YamlNode& node, YamlErrors& errors, KindWeights& weights) {
  if (node.kind != YamlNode::Kind::kMap) {
    errors.Add(node, "expected fault types with a weight each, such as flap: 30");
    return;
  }
  std::vector<std::string_view> names;
  names.reserve(kFaultKinds);
  for (const FaultInfo& kind : kFaultInfos) names.push_back(kind.name);
  for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const YamlNode& key = node.items[i];
    if (std::ranges::find(names, key.text) == names.end()) {
      errors.Add(
          key, fmt::format("\"{}\" is not a fault type{}", key.text, DidYouMean(key.text, names)));
      continue;
    }
    weights[key.text] = ReadParsed(node.items[i + 1], ParseWeight, errors).value_or(0);
  }
  const auto is_zero = [](const auto& weight) { return weight.second == 0; };
  if (errors.empty() && std::ranges::all_of(weights, is_zero)) {
    errors.Add(node, "no fault type has a weight above 0");
  }
}

}  // namespace

Result<KindWeights> LoadKindWeights(std::string_view text, std::string_view file) {
  auto root = topology::ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  YamlErrors errors{std::string(file)};
  const YamlMap map(
      *root, "the priors",
      {"kinds", "loss_rates", "field_loss_rates", "concurrent", "same_place", "growing"}, errors);
  KindWeights weights;
  if (const YamlNode* kinds = map.Require("kinds")) ReadKinds(*kinds, errors, weights);
  if (!errors.empty()) return tl::unexpected(errors.Take());
  return weights;
}

}  // namespace rocescope

// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "base/text/yaml_fields.h"

namespace rocescope::sim {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

constexpr double kMaxWeight = 1e9;

auto RealUpTo(double most) {
  return [most](std::string_view text) -> Result<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most)
      return value;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a number from 0 to {}", text, most));
  };
}

void ReadKinds(const YamlNode& node, YamlErrors& errors, Priors& priors) {
  if (node.kind != YamlNode::Kind::kMap) {
    errors.Add(node, "expected a map of fault types to weights, such as flap: 30");
    return;
  }
  std::vector<std::string_view> names;
  names.reserve(kFaultKinds);
  for (const FaultInfo& fault : kFaultInfos) names.push_back(fault.name);
  for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const YamlNode& key = node.items[i];
    const auto kind = FindFaultKind(key.text);
    if (!kind) {
      errors.Add(
          key, fmt::format("\"{}\" is not a fault type{}", key.text, DidYouMean(key.text, names)));
      continue;
    }
    priors.kinds[static_cast<size_t>(*kind)] =
        ReadParsed(node.items[i + 1], RealUpTo(kMaxWeight), errors).value_or(0);
  }
  if (errors.empty() && std::all_of(priors.kinds.begin(), priors.kinds.end(),
                                    [](double weight) { return weight == 0; })) {
    errors.Add(node, "at least one fault type needs a weight above 0");
  }
}

void ReadLossRates(const YamlNode& node, YamlErrors& errors, std::vector<Priors::LossRates>& all) {
  double shares = 0;
  for (const YamlNode& item : ReadList(node, errors)) {
    const YamlMap map(item, "loss rates", {"least", "most", "share"}, errors);
    const auto real = [&](std::string_view key, double most, double& value) {
      const YamlNode* at = map.Require(key);
      if (at != nullptr) value = ReadParsed(*at, RealUpTo(most), errors).value_or(0);
    };
    Priors::LossRates rates;
    real("least", 1, rates.least);
    real("most", 1, rates.most);
    real("share", kMaxWeight, rates.share);
    if (errors.empty() && (rates.least <= 0 || rates.least > rates.most)) {
      errors.Add(item, "loss rates must be above 0, and `least` must not be above `most`");
    }
    shares += rates.share;
    all.push_back(rates);
  }
  if (errors.empty() && shares == 0)
    errors.Add(node, "at least one loss rate needs a share above 0");
}

void ReadConcurrent(const YamlNode& node, YamlErrors& errors, Priors& priors) {
  const auto weights = ReadList(node, errors);
  if (weights.size() != priors.concurrent.size()) {
    errors.Add(node, "expected four weights: of one, two, three and four faults");
    return;
  }
  double sum = 0;
  for (size_t i = 0; i < priors.concurrent.size(); ++i) {
    priors.concurrent[i] = ReadParsed(weights[i], RealUpTo(kMaxWeight), errors).value_or(0);
    sum += priors.concurrent[i];
  }
  if (errors.empty() && sum == 0) errors.Add(node, "at least one weight must be above 0");
}

}  // namespace

Result<Priors> LoadPriors(std::string_view text, std::string_view file) {
  auto root = topology::ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  YamlErrors errors{std::string(file)};
  const YamlMap map(
      *root, "the priors",
      {"kinds", "loss_rates", "field_loss_rates", "concurrent", "same_place", "growing"}, errors);
  Priors priors;
  if (const YamlNode* kinds = map.Require("kinds")) ReadKinds(*kinds, errors, priors);
  if (const YamlNode* rates = map.Require("loss_rates"))
    ReadLossRates(*rates, errors, priors.loss_rates);
  if (const YamlNode* rates = map.Find("field_loss_rates")) {
    ReadLossRates(*rates, errors, priors.field_loss_rates);
  }
  if (const YamlNode* weights = map.Find("concurrent")) ReadConcurrent(*weights, errors, priors);
  for (const auto& [key, share] :
       {std::pair("same_place", &priors.same_place), std::pair("growing", &priors.growing)}) {
    const YamlNode* at = map.Find(key);
    if (at != nullptr) *share = ReadParsed(*at, RealUpTo(1), errors).value_or(*share);
  }
  if (!errors.empty()) return tl::unexpected(errors.Take());
  return priors;
}

}  // namespace rocescope::sim

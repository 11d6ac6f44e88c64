// SPDX-License-Identifier: BSD-3-Clause
#include "topology/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/text/name_range.h"
#include "base/text/quantity.h"
#include "base/text/yaml_tree.h"
#include "topology/check.h"
#include "topology/yaml_reader.h"

namespace rocescope::topology {
namespace {

constexpr Duration kDefaultDelay = std::chrono::microseconds(1);  // same default as in Blueprint

}  // namespace

Result<Fabric> LoadFabric(std::string_view text, std::string_view file) {
  auto root = ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  return FabricReader(file).Read(*root);
}

Result<Fabric> ReadFabric(const YamlNode& node, std::string_view file) {
  return FabricReader(file).Read(node);
}

Result<Fabric> FabricReader::Read(const YamlNode& root) {
  const YamlMap map(
      root, "a fabric",
      {"name", "defaults", "generate", "switches", "hosts", "unplugged", "links", "mirrors"},
      errors_);
  // The order of processing: each section may refer to earlier ones, whatever the order in the
  // file.
  const std::pair<std::string_view, void (FabricReader::*)(const YamlNode&)> sections[] = {
      {"defaults", &FabricReader::ReadDefaults},   {"generate", &FabricReader::ReadGenerate},
      {"switches", &FabricReader::ReadSwitches},   {"hosts", &FabricReader::ReadHosts},
      {"unplugged", &FabricReader::ReadUnplugged}, {"links", &FabricReader::ReadLinks},
      {"mirrors", &FabricReader::ReadMirrors}};
  draft_.SetDefaults(std::nullopt, kDefaultDelay);
  for (const auto& [key, read] : sections) {
    if (const YamlNode* section = map.Find(key); section != nullptr) (this->*read)(*section);
  }
  if (const YamlNode* name = map.Find("name"); name != nullptr) {
    const auto read = ReadText(*name, errors_);
    if (read && !IsPortName(*read)) {
      errors_.Add(*name, fmt::format("\"{}\" is not a valid fabric name", *read));
    }
    if (read) draft_.SetName(std::string(*read));
  }
  return draft_.Build();
}

void FabricReader::ReadDefaults(const YamlNode& node) {
  const YamlMap map(node, "the defaults", {"speed", "delay"}, errors_);
  std::optional<Duration> delay;
  if (const YamlNode* value = map.Find("speed")) speed_ = ReadParsed(*value, ParseSpeed, errors_);
  if (const YamlNode* value = map.Find("delay")) delay = ReadParsed(*value, ParseDelay, errors_);
  draft_.SetDefaults(speed_, delay.value_or(kDefaultDelay));
}

std::vector<std::string> FabricReader::ReadNames(const YamlNode& node) {
  const auto text = ReadText(node, errors_);
  if (!text) return {};
  auto names = ExpandNames(*text, names_left_);
  if (!names) {
    errors_.Add(node, names.error().message);
    return {};
  }
  names_left_ -= names->size();
  return *std::move(names);
}

std::vector<std::string> FabricReader::ReadNamesFor(const YamlNode& node, size_t count) {
  std::vector<std::string> names = ReadNames(node);
  if (names.size() <= 1 || names.size() == count) return names;
  errors_.Add(node, fmt::format("\"{}\" expands to {} values, but {} are needed", node.text,
                                names.size(), count));
  return {};
}

void FabricReader::ReadCount(const YamlNode* node, uint32_t& count,
                             std::vector<std::string>& names) {
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::kScalar &&
      node->text.find_first_not_of("0123456789") == std::string::npos) {
    count = static_cast<uint32_t>(ReadNumber(*node, 1, kMaxNodes, errors_).value_or(0));
    return;
  }
  names = ReadNames(*node);
  count = static_cast<uint32_t>(names.size());
}

void FabricReader::ReadGenerate(const YamlNode& node) {
  constexpr std::array<std::string_view, 3> kShapes = {"star", "leaf-spine", "fat-tree"};
  const YamlMap map(
      node, "generate",
      {"shape", "hosts", "nics", "gpus", "rail_optimised", "leaves", "spines", "cores",
       "parallel_links", "k", "host_speed", "fabric_speed", "host_delay", "fabric_delay"},
      errors_);
  Blueprint plan;
  if (const YamlNode* shape = map.Require("shape")) {
    plan.shape = static_cast<Shape>(ReadChoice(*shape, kShapes, errors_).value_or(0));
  }
  const auto number = [&](std::string_view key, uint64_t least, auto& value) {
    const YamlNode* at = map.Find(key);
    if (at == nullptr) return;
    if (const auto read = ReadNumber(*at, least, kMaxNodes, errors_)) {
      value = static_cast<uint32_t>(*read);
    }
  };
  uint32_t cores = 0;  // k determines the number
  ReadCount(map.Find("hosts"), plan.hosts, plan.host_names);
  ReadCount(map.Find("leaves"), plan.leaves, plan.leaf_names);
  ReadCount(map.Find("spines"), plan.spines, plan.spine_names);
  ReadCount(map.Find("cores"), cores, plan.core_names);
  number("nics", 1, plan.nics_per_host);
  number("gpus", 0, plan.gpus_per_host);
  number("parallel_links", 1, plan.parallel_links);
  number("k", 2, plan.k);
  if (const YamlNode* rails = map.Find("rail_optimised")) {
    plan.rail_optimised = ReadBool(*rails, errors_).value_or(false);
  }
  const auto speed = [&](std::string_view key, uint64_t& value) {
    const YamlNode* at = map.Find(key);
    const auto read = at == nullptr ? speed_ : ReadParsed(*at, ParseSpeed, errors_);
    if (read) value = *read;
    if (read || at != nullptr) return;
    errors_.Add(node, fmt::format("no {}: set it here, or for all links with defaults: {{speed: "
                                  "400G}}",
                                  key));
  };
  speed("host_speed", plan.host_bits_per_second);
  if (plan.shape != Shape::kStar) speed("fabric_speed", plan.fabric_bits_per_second);
  const auto delay = [&](std::string_view key, Duration& value) {
    const YamlNode* at = map.Find(key);
    value = at == nullptr ? draft_.default_delay()
                          : ReadParsed(*at, ParseDelay, errors_).value_or(kDefaultDelay);
  };
  delay("host_delay", plan.host_delay);
  delay("fabric_delay", plan.fabric_delay);
  if (!errors_.empty()) return;
  auto parts = GenerateParts(plan);
  if (parts) {
    draft_.Begin(*std::move(parts), PlaceOf(node));
  } else {
    errors_.Add(node, parts.error().message);
  }
}

}  // namespace rocescope::topology
